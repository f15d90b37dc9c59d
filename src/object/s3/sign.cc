#include "object/s3/sign.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "base/encode.h"

namespace aquifer::object::s3 {

namespace {

std::string sha256(std::string_view data) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(data.data(), data.size(), out, &size, EVP_sha256(), nullptr);
  return std::string(reinterpret_cast<const char*>(out), size);
}

std::string hmac(std::string_view key, std::string_view data) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(data.data()), data.size(), out,
       &size);
  return std::string(reinterpret_cast<const char*>(out), size);
}

// Runs of blanks count as one.
std::string folded(std::string_view value) {
  std::string out;
  for (const char c : value)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

std::string encodeQuery(Query query) {
  for (auto& [name, value] : query) {
    name = percentEncode(name, false);
    value = percentEncode(value, false);
  }
  std::sort(query.begin(), query.end());
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    out += name;
    out += '=';
    out += value;
  }
  return out;
}

std::string amzDate(int64_t unixTime) { return utcTimeText(unixTime, "%Y%m%dT%H%M%SZ"); }

std::string authorization(const SigningInput& input, const Credentials& credentials) {
  http::Headers headers;
  for (const auto& h : input.headers) headers.push_back({http::lower(h.name), folded(h.value)});
  std::sort(headers.begin(), headers.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string names, lines;
  for (const auto& h : headers) {
    names += (names.empty() ? "" : ";") + h.name;
    lines += h.name + ":" + h.value + "\n";
  }
  std::string canonical;
  for (const std::string_view part : {input.method, input.path, input.query, std::string_view(lines), std::string_view(names)})
    canonical += std::string(part) + "\n";
  canonical += input.payloadHash;

  const std::string date = amzDate(input.unixTime), day = date.substr(0, 8);
  const std::string scope = day + "/" + std::string(input.region) + "/" + std::string(input.service) + "/aws4_request";
  const std::string toSign = "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hexEncode(sha256(canonical));
  std::string key = "AWS4" + credentials.secretKey;
  for (const std::string_view part : {std::string_view(day), input.region, input.service, std::string_view("aws4_request")})
    key = hmac(key, part);
  return "AWS4-HMAC-SHA256 Credential=" + credentials.accessKey + "/" + scope + ", SignedHeaders=" + names +
         ", Signature=" + hexEncode(hmac(key, toSign));
}

void signS3(std::string_view method, std::string_view host, std::string_view path, std::string_view query, std::string_view region,
            const Credentials& credentials, int64_t unixTime, http::Headers* headers) {
  if (credentials.anonymous) return;
  headers->push_back({"x-amz-content-sha256", kUnsignedPayload});
  headers->push_back({"x-amz-date", amzDate(unixTime)});
  if (!credentials.sessionToken.empty()) headers->push_back({"x-amz-security-token", credentials.sessionToken});
  SigningInput input{.method = method,
                     .path = path,
                     .query = query,
                     .headers = *headers,
                     .payloadHash = kUnsignedPayload,
                     .region = region,
                     .service = "s3",
                     .unixTime = unixTime};
  input.headers.push_back({"host", std::string(host)});
  headers->push_back({"Authorization", authorization(input, credentials)});
}

}  // namespace aquifer::object::s3
