#include "meta/store/redis/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace aquifer::meta::redis {

namespace {

constexpr size_t kMaxReadAtOnce = 1 << 16;

Status cannot(std::string_view what, int error) {
  return Status(Code::unavailable, fmt::format("redis: {}: {}", what, std::strerror(error)));
}

// Waits until `events` or the deadline; 0 or an errno.
int waitFor(int fd, short events, int64_t deadlineNanos) {
  for (;;) {
    int64_t left = (deadlineNanos - monotonicNanos() + 999'999) / 1'000'000;
    if (left <= 0) return ETIMEDOUT;
    pollfd p{fd, events, 0};
    int n = ::poll(&p, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
    if (n > 0) return 0;
    if (n < 0 && errno != EINTR) return errno;
  }
}

// A connected, non-blocking socket, or -errno.
int connectTo(const sockaddr* where, socklen_t size, int64_t deadlineNanos) {
  int fd = ::socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  int error = ::connect(fd, where, size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    error = waitFor(fd, POLLOUT, deadlineNanos);
    socklen_t length = sizeof error;
    if (error == 0 && ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  }
  if (error == 0) return fd;
  ::close(fd);
  return -error;
}

Result<int> connectTcp(const Address& address, int64_t deadlineNanos) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int rc = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found); rc != 0)
    return Status(Code::unavailable, fmt::format("redis: {}: {}", address.host, ::gai_strerror(rc)));
  int fd = -EHOSTUNREACH;
  for (auto* a = found; a && fd < 0; a = a->ai_next) fd = connectTo(a->ai_addr, a->ai_addrlen, deadlineNanos);
  ::freeaddrinfo(found);
  if (fd < 0) return cannot(fmt::format("connect to {}", address.text()), -fd);
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return fd;
}

Result<int> connectUnix(const Address& address, int64_t deadlineNanos) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (address.socketPath.size() >= sizeof where.sun_path)
    return Status(Code::config, "redis: the path of the socket is too long");
  std::memcpy(where.sun_path, address.socketPath.c_str(), address.socketPath.size() + 1);
  int fd = connectTo(reinterpret_cast<sockaddr*>(&where), sizeof where, deadlineNanos);
  if (fd < 0) return cannot(fmt::format("connect to {}", address.text()), -fd);
  return fd;
}

void appendLength(std::string& out, char type, size_t n) {
  char digits[24];
  auto end = fmt::format_to(digits, "{}{}\r\n", type, n);
  out.append(digits, end);
}

}  // namespace

void encodeCommand(std::string& out, std::span<const std::string> words) {
  appendLength(out, '*', words.size());
  for (auto& word : words) {
    appendLength(out, '$', word.size());
    out += word;
    out += "\r\n";
  }
}

Connection::Connection(int fd, const Address& address)
    : fd_(fd), readMs_(address.readMs), writeMs_(address.writeMs), reader_(redisReaderCreate(), redisReaderFree) {}

Connection::~Connection() { ::close(fd_); }

Result<std::unique_ptr<Connection>> Connection::open(const Address& address) {
  auto deadline = monotonicNanos() + int64_t{address.connectMs} * 1'000'000;
  TRY_ASSIGN(int fd, address.socketPath.empty() ? connectTcp(address, deadline) : connectUnix(address, deadline));
  std::unique_ptr<Connection> c(new Connection(fd, address));
  if (!c->reader_) return Code::noMemory;
  std::string bytes;
  size_t count = 0;
  auto add = [&](const Command& command) {
    encodeCommand(bytes, command);
    ++count;
  };
  if (!address.password.empty())
    add(address.user.empty() ? Command{"AUTH", address.password} : Command{"AUTH", address.user, address.password});
  if (address.db != 0) add({"SELECT", std::to_string(address.db)});
  if (count == 0) return c;
  auto replies = c->exchange(bytes, count);
  if (!replies) return Status(Code::unavailable, std::move(replies).status().text());
  for (auto& reply : *replies) {
    if (!reply.view().isError()) continue;
    auto why = errorOf(reply.view().text());
    return why.is(Code::unavailable) ? why : Status(Code::config, why.text());
  }
  return c;
}

Status Connection::send(std::string_view bytes) {
  auto deadline = monotonicNanos() + int64_t{writeMs_} * 1'000'000;
  while (!bytes.empty()) {
    auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
      continue;
    }
    int error = errno;
    if (error == EINTR) continue;
    if (error == EAGAIN) error = waitFor(fd_, POLLOUT, deadline);
    // A command is carried out when its last byte is there, and that one has not been sent.
    if (error != 0) return cannot("send", error);
  }
  return {};
}

Result<Reply> Connection::read(int64_t deadlineNanos) {
  char buffer[kMaxReadAtOnce];
  auto lost = [](std::string_view why) { return Status(Code::maybeCommitted, fmt::format("redis: no answer: {}", why)); };
  for (;;) {
    void* raw = nullptr;
    if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) return Status(Code::corrupt, "redis: the answer is no reply");
    if (raw) return Reply(raw);
    auto n = ::recv(fd_, buffer, sizeof buffer, 0);
    if (n == 0) return lost("the server closed the connection");
    if (n > 0) {
      if (redisReaderFeed(reader_.get(), buffer, static_cast<size_t>(n)) != REDIS_OK) return lost("out of memory");
      continue;
    }
    int error = errno;
    if (error == EINTR) continue;
    if (error == EAGAIN) error = waitFor(fd_, POLLIN, deadlineNanos);
    if (error != 0) return lost(std::strerror(error));
  }
}

Result<std::vector<Reply>> Connection::exchange(std::string_view bytes, size_t count) {
  TRY(send(bytes));
  auto deadline = monotonicNanos() + int64_t{readMs_} * 1'000'000;
  std::vector<Reply> replies;
  replies.reserve(count);
  while (replies.size() < count) {
    TRY_ASSIGN(auto reply, read(deadline));
    replies.push_back(std::move(reply));
  }
  return replies;
}

bool Connection::isIdle() const {
  char byte;
  return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace aquifer::meta::redis
