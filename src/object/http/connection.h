// A byte stream to a server: TCP, with TLS on top where asked for. Every call has a deadline (monotonic nanoseconds), and no call
// waits longer than kStallNanos for a byte to move. Errors: timedOut, unavailable (refused, reset, unknown name), io (TLS).
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

struct ssl_st;
struct ssl_ctx_st;

namespace aquifer::object::http {

inline constexpr int64_t kConnectNanos = 10'000'000'000;
inline constexpr int64_t kStallNanos = 30'000'000'000;

struct Origin {
  bool tls = false;
  std::string host;  // a name or an address, IPv6 without brackets
  uint16_t port = 80;
  std::string text() const;  // as in a Host header: without the port that goes without saying
};

// What is trusted and shown in a handshake. The system's certificates if caFile is empty.
struct TlsOptions {
  bool verify = true;
  std::string caFile, certFile, keyFile;
};

// Thread-safe once made.
class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> make(const TlsOptions& options);
  ~TlsContext();
  ssl_ctx_st* get() const { return context_; }
  bool verify() const { return verify_; }

 private:
  TlsContext(ssl_ctx_st* context, bool verify) : context_(context), verify_(verify) {}
  ssl_ctx_st* const context_;
  const bool verify_;
};

class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const std::string& host, uint16_t port, int64_t deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status startTls(const TlsContext& context, const std::string& host, int64_t deadline);
  // Some bytes; 0 when the peer has closed.
  Result<size_t> read(std::span<std::byte> out, int64_t deadline);
  // All of `bytes`, unless the peer answers or closes first: then `*interrupted`, and what it had to say can be read.
  // `more`: others follow at once, so a short packet may wait for them.
  Status write(std::span<const std::byte> bytes, bool more, int64_t deadline, bool* interrupted);
  // Nothing to read and not closed: fit for another request.
  bool quiet() const;

  int64_t idleSince = 0;  // for the pool

 private:
  explicit Connection(int fd) : fd_(fd) {}
  Status wait(short events, int64_t deadline, short* got = nullptr) const;
  Status waitTls(int rc, int64_t deadline, const char* doing);

  const int fd_;
  ssl_st* ssl_ = nullptr;
};

}  // namespace aquifer::object::http
