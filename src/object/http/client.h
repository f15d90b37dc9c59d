// HTTP/1.1 to one server over connections that are kept. No retry of its own, save one: a kept connection that turns out to be
// closed before the first byte of an answer is replaced by a new one. Thread-safe.
//
// Bodies travel without a copy where there is no TLS: a request's from the caller's memory, an answer's into it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "object/http/connection.h"
#include "object/http/message.h"
#include "object/http/proxy.h"

namespace aquifer::object::http {

struct Request {
  std::string method, target;  // target: encoded path and query
  Headers headers;             // without Host, Content-Length
  std::span<const std::byte> body;
  std::span<std::byte> into;          // the body of a 200 or 206 goes here, if not empty
  size_t bodyLimit = 1u << 20;        // every other body goes into Response::body, up to so many bytes
  int timeoutMs = 60'000;             // for everything together
};

struct Response : Head {
  std::string body;
  size_t stored = 0;       // bytes in Request::into
  bool cut = false;        // there was more than there was room for
  bool sized = false;      // the answer told its length, so a missing end is an error and not the end
};

class Client {
 public:
  // Errors: config (certificates).
  static Result<std::unique_ptr<Client>> make(const Origin& origin, const TlsOptions& tls);
  // Errors: timedOut, unavailable, io. Any status is an answer, not an error.
  Result<Response> send(const Request& request);
  const Origin& origin() const { return origin_; }

 private:
  Client(Origin origin, std::unique_ptr<TlsContext> tls, Proxy proxy)
      : origin_(std::move(origin)), tls_(std::move(tls)), proxy_(std::move(proxy)) {}
  Result<std::unique_ptr<Connection>> connect(int64_t deadline) const;
  std::unique_ptr<Connection> takeKept();
  void keep(std::unique_ptr<Connection> connection);
  std::string headOf(const Request& request) const;

  const Origin origin_;
  const std::unique_ptr<TlsContext> tls_;  // null: plain
  const Proxy proxy_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> kept_;  // the last used at the end
};

}  // namespace aquifer::object::http
