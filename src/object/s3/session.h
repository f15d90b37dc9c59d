// Signed requests to one bucket, and what their answers mean. Thread-safe. No secret gets into a Status: a server that repeats one
// has it blotted out.
#pragma once

#include <memory>
#include <string>

#include "object/http/client.h"
#include "object/s3/endpoint.h"
#include "object/s3/sign.h"

namespace aquifer::object::s3 {

class Session {
 public:
  static Result<std::unique_ptr<Session>> make(Endpoint endpoint, Credentials credentials, int getTimeoutMs, int putTimeoutMs);

  // Path and query of an object, or of the bucket itself for an empty key.
  std::string target(std::string_view key, Query query) const;
  // Any status is an answer. The time-out of the request is set here, by its method.
  Result<http::Response> send(http::Request request);
  // Ok for 2xx.
  Status check(const http::Response& answer, std::string* errorCode = nullptr) const;
  // send and check.
  Result<http::Response> call(http::Request request, std::string* errorCode = nullptr);

  const Endpoint& endpoint() const { return endpoint_; }
  bool isAmazon() const { return endpoint_.origin.host.find(".amazonaws.com") != std::string::npos; }

 private:
  Session(Endpoint endpoint, Credentials credentials, std::unique_ptr<http::Client> client, int getTimeoutMs, int putTimeoutMs)
      : endpoint_(std::move(endpoint)),
        credentials_(std::move(credentials)),
        client_(std::move(client)),
        getTimeoutMs_(getTimeoutMs),
        putTimeoutMs_(putTimeoutMs) {}
  std::string withoutSecrets(std::string text) const;

  const Endpoint endpoint_;
  const Credentials credentials_;
  const std::unique_ptr<http::Client> client_;
  const int getTimeoutMs_, putTimeoutMs_;
};

inline Status statusOf(const Result<http::Response>& r) { return r.status(); }

}  // namespace aquifer::object::s3
