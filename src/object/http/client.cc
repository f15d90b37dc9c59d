#include "object/http/client.h"

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "base/environment.h"
#include "object/http/exchange.h"

namespace aquifer::object::http {

namespace {

constexpr size_t kMaxKept = 256;
constexpr int64_t kMaxIdleNanos = 90'000'000'000;

}  // namespace

Result<std::unique_ptr<Client>> Client::make(const Origin& origin, const TlsOptions& tls) {
  TRY_ASSIGN(Proxy proxy, proxyFor(origin, environment));
  std::unique_ptr<TlsContext> context;
  if (origin.tls) {
    TRY_ASSIGN(context, TlsContext::make(tls));
  }
  return std::unique_ptr<Client>(new Client(origin, std::move(context), std::move(proxy)));
}

Result<std::unique_ptr<Connection>> Client::connect(int64_t deadline) const {
  const bool direct = proxy_.host.empty();
  TRY_ASSIGN(auto connection,
             direct ? Connection::open(origin_.host, origin_.port, deadline) : Connection::open(proxy_.host, proxy_.port, deadline));
  if (!tls_) return connection;
  if (!direct) {
    const std::string authority = origin_.host + ":" + std::to_string(origin_.port);
    std::string head = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
    if (!proxy_.authorization.empty()) head += "Proxy-Authorization: " + proxy_.authorization + "\r\n";
    // Like a HEAD: what follows the answer is the tunnel.
    Exchange tunnel{.connection = *connection, .deadline = deadline};
    TRY_ASSIGN(const Response answer, tunnel.run(head + "\r\n", Request{.method = "HEAD"}));
    if (answer.status / 100 != 2)
      return Status(Code::unavailable, "the proxy " + proxy_.host + " answers " + std::to_string(answer.status));
  }
  TRY(connection->startTls(*tls_, origin_.host, deadline));
  return connection;
}

std::unique_ptr<Connection> Client::takeKept() {
  std::vector<std::unique_ptr<Connection>> dead;  // closed outside the lock
  std::lock_guard lock(mutex_);
  while (!kept_.empty()) {
    auto connection = std::move(kept_.back());
    kept_.pop_back();
    if (monotonicNanos() - connection->idleSince < kMaxIdleNanos && connection->quiet()) return connection;
    dead.push_back(std::move(connection));
  }
  return nullptr;
}

void Client::keep(std::unique_ptr<Connection> connection) {
  connection->idleSince = monotonicNanos();
  std::unique_ptr<Connection> oldest;
  std::lock_guard lock(mutex_);
  if (kept_.size() >= kMaxKept) {
    oldest = std::move(kept_.front());
    kept_.erase(kept_.begin());
  }
  kept_.push_back(std::move(connection));
}

std::string Client::headOf(const Request& request) const {
  std::string head;
  head.reserve(1024);
  head += request.method;
  head += ' ';
  if (!tls_ && !proxy_.host.empty()) head += "http://" + origin_.text();
  head += request.target;
  head += " HTTP/1.1\r\nHost: ";
  head += origin_.text();
  head += "\r\n";
  if (!tls_ && !proxy_.authorization.empty()) head += "Proxy-Authorization: " + proxy_.authorization + "\r\n";
  for (const auto& h : request.headers) {
    head += h.name;
    head += ": ";
    head += h.value;
    head += "\r\n";
  }
  if (!request.body.empty() || request.method == "PUT" || request.method == "POST")
    head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  head += "\r\n";
  return head;
}

Result<Response> Client::send(const Request& request) {
  for (const auto& h : request.headers)
    if (h.name.find_first_of("\r\n:") != std::string::npos || h.value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return Status(Code::invalid, "a header must not contain a line break");
  const int64_t deadline = monotonicNanos() + static_cast<int64_t>(std::max(1, request.timeoutMs)) * 1'000'000;
  const std::string head = headOf(request);
  for (bool fresh = false;; fresh = true) {
    auto connection = fresh ? nullptr : takeKept();
    const bool kept = connection != nullptr;
    if (!kept) {
      TRY_ASSIGN(connection, connect(deadline));
    }
    Exchange exchange{.connection = *connection, .deadline = deadline};
    auto response = exchange.run(head, request);
    if (response && exchange.reusable) keep(std::move(connection));
    // Closed by the server while it was kept: this says nothing about the request.
    if (!response && kept && !exchange.heard && response.is(Code::unavailable)) continue;
    return response;
  }
}

}  // namespace aquifer::object::http
