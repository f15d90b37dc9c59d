#include "object/s3/bucket_region.h"

#include "object/s3/session.h"
#include "object/s3/xml.h"

namespace aquifer::object::s3 {

namespace {

constexpr int kTimeoutMs = 10'000;

bool looksLikeRegion(std::string_view text) {
  return !text.empty() && text.size() < 64 && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

Result<std::string> askIn(const std::string& region, const Endpoint& endpoint, const Credentials& credentials) {
  Endpoint where = endpoint;
  where.region = region;
  where.pathStyle = true;
  where.origin.host = awsHost(region);
  TRY_ASSIGN(auto session, Session::make(std::move(where), credentials, kTimeoutMs, kTimeoutMs));
  TRY_ASSIGN(const http::Response answer, session->send({.method = "GET", .target = session->target("", {{"location", ""}})}));
  // Told even to those who may not ask.
  if (const std::string* told = answer.header("x-amz-bucket-region"); told && looksLikeRegion(*told)) return *told;
  TRY(session->check(answer));
  return parseLocation(answer.body);
}

}  // namespace

Result<std::string> parseLocation(std::string_view xml) {
  TRY_ASSIGN(const XmlElement root, parseXml(xml));
  if (root.name != "LocationConstraint") return Status(Code::io, "the server's answer names no region");
  if (root.text.empty()) return std::string("us-east-1");
  if (root.text == "EU") return std::string("eu-west-1");
  if (!looksLikeRegion(root.text)) return Status(Code::io, "the server's answer names no region");
  return root.text;
}

Status findRegion(Endpoint* endpoint, const Credentials& credentials, const Environment& environment) {
  std::string first = environment("AWS_DEFAULT_REGION");
  if (first.empty()) first = "us-east-1";
  Status failure;
  for (const std::string& region : {first, std::string("cn-north-1")}) {
    auto found = askIn(region, *endpoint, credentials);
    if (found) {
      setRegion(endpoint, *found);
      return {};
    }
    if (failure) failure = found.status();
  }
  return {Code::config, "the region of bucket " + endpoint->bucket + " cannot be found out (" + failure.text() +
                            "); write it as https://" + endpoint->bucket + ".s3.REGION.amazonaws.com"};
}

}  // namespace aquifer::object::s3
