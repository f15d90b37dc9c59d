#include "object/s3/session.h"

#include "base/encode.h"
#include "base/clock.h"
#include "base/version.h"
#include "object/s3/listing.h"

namespace aquifer::object::s3 {

Result<std::unique_ptr<Session>> Session::make(Endpoint endpoint, Credentials credentials, int getTimeoutMs, int putTimeoutMs) {
  TRY_ASSIGN(auto client, http::Client::make(endpoint.origin, endpoint.tls));
  return std::unique_ptr<Session>(
      new Session(std::move(endpoint), std::move(credentials), std::move(client), getTimeoutMs, putTimeoutMs));
}

std::string Session::target(std::string_view key, Query query) const {
  std::string out = "/";
  if (endpoint_.pathStyle) {
    out += percentEncode(endpoint_.bucket, false);
    if (!key.empty()) out += '/';
  }
  out += percentEncode(key, true);
  if (!query.empty()) out += "?" + encodeQuery(std::move(query));
  return out;
}

Result<http::Response> Session::send(http::Request request) {
  request.timeoutMs = request.method == "PUT" || request.method == "POST" ? putTimeoutMs_ : getTimeoutMs_;
  request.headers.push_back({"User-Agent", std::string("Aquifer/") + kVersion});
  const size_t question = std::min(request.target.find('?'), request.target.size());
  const std::string_view target = request.target;
  signS3(request.method, endpoint_.origin.text(), target.substr(0, question),
         target.substr(std::min(question + 1, target.size())), endpoint_.region, credentials_, unixSeconds(), &request.headers);
  return client_->send(request);
}

std::string Session::withoutSecrets(std::string text) const {
  for (const std::string* secret : {&credentials_.secretKey, &credentials_.sessionToken}) {
    if (secret->size() < 4) continue;
    for (size_t at = 0; (at = text.find(*secret, at)) != std::string::npos;) text.replace(at, secret->size(), "****");
  }
  return text;
}

Status Session::check(const http::Response& answer, std::string* errorCode) const {
  if (answer.status / 100 == 2) return {};
  const ErrorAnswer error = parseError(answer.body);
  if (errorCode) *errorCode = error.code;
  std::string text = std::to_string(answer.status);
  if (!error.code.empty()) text += " " + error.code;
  if (!error.message.empty()) text += ": " + error.message;
  if (const std::string* region = answer.header("x-amz-bucket-region"); region && *region != endpoint_.region)
    text += " (the bucket lies in the region " + region->substr(0, 64) + ")";
  return {codeOf(answer.status, error.code), withoutSecrets(std::move(text))};
}

Result<http::Response> Session::call(http::Request request, std::string* errorCode) {
  TRY_ASSIGN(http::Response answer, send(std::move(request)));
  TRY(check(answer, errorCode));
  return answer;
}

}  // namespace aquifer::object::s3
