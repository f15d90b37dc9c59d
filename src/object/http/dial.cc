#include "object/http/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

namespace aquifer::object::http {

namespace {

constexpr int64_t kNextAddressNanos = 300'000'000;
constexpr size_t kMaxAddresses = 16;

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  int family = 0;
};

// IPv6 and IPv4 in turns, each kind from a random one on.
Result<std::vector<Address>> resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  int rc = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  if (rc != 0) {  // a machine with nothing but the loopback interface has no "configured" address
    hints.ai_flags = 0;
    rc = getaddrinfo(host.c_str(), service.c_str(), &hints, &found);
  }
  if (rc != 0) return Status(Code::unavailable, "look up " + host + ": " + gai_strerror(rc));
  std::vector<Address> six, four;
  for (const addrinfo* a = found; a; a = a->ai_next) {
    if (a->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Address address{.size = a->ai_addrlen, .family = a->ai_family};
    std::copy_n(reinterpret_cast<const char*>(a->ai_addr), a->ai_addrlen, reinterpret_cast<char*>(&address.bytes));
    (a->ai_family == AF_INET6 ? six : four).push_back(address);
  }
  freeaddrinfo(found);
  for (auto* kind : {&six, &four})
    if (kind->size() > 1) std::rotate(kind->begin(), kind->begin() + static_cast<ptrdiff_t>(randomBelow(kind->size())), kind->end());
  std::vector<Address> out;
  for (size_t i = 0; i < std::max(six.size(), four.size()) && out.size() < kMaxAddresses; i++) {
    if (i < six.size()) out.push_back(six[i]);
    if (i < four.size()) out.push_back(four[i]);
  }
  if (out.empty()) return Status(Code::unavailable, "look up " + host + ": no address");
  return out;
}

class Race {
 public:
  explicit Race(std::vector<Address> addresses) : addresses_(std::move(addresses)) {}
  ~Race() {
    for (const auto& p : waiting_) ::close(p.fd);
  }

  // The first socket that connects, or the last error.
  Result<int> run(int64_t deadline) {
    int64_t nextAt = 0;
    while (monotonicNanos() < deadline) {
      if (next_ < addresses_.size() && (waiting_.empty() || monotonicNanos() >= nextAt)) {
        if (const int fd = start(addresses_[next_++]); fd >= 0) return fd;
        nextAt = monotonicNanos() + kNextAddressNanos;
        continue;
      }
      if (waiting_.empty()) return Status(Code::unavailable, std::string(codeText(static_cast<Code>(error_))));
      const int64_t until = next_ < addresses_.size() ? std::min(deadline, nextAt) : deadline;
      const int64_t ms = std::max<int64_t>(0, until - monotonicNanos()) / 1'000'000 + 1;
      if (::poll(waiting_.data(), waiting_.size(), static_cast<int>(ms)) < 0 && errno != EINTR)
        return Status(Code::unavailable, "poll: " + std::string(codeText(static_cast<Code>(errno))));
      if (const int fd = winner(); fd >= 0) return fd;
    }
    return Status(Code::timedOut, "no answer");
  }

 private:
  int start(const Address& address) {
    const int fd = ::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      error_ = errno;
      return -1;
    }
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0) return fd;
    if (errno == EINPROGRESS || errno == EINTR) {
      waiting_.push_back({.fd = fd, .events = POLLOUT, .revents = 0});
    } else {
      error_ = errno;
      ::close(fd);
    }
    return -1;
  }

  int winner() {
    for (size_t i = 0; i < waiting_.size();) {
      if (waiting_[i].revents == 0) {
        i++;
        continue;
      }
      const int fd = waiting_[i].fd;
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
      int error = 0;
      socklen_t size = sizeof(error);
      if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) return fd;
      error_ = error ? error : EIO;
      ::close(fd);
    }
    return -1;
  }

  const std::vector<Address> addresses_;
  size_t next_ = 0;
  std::vector<pollfd> waiting_;
  int error_ = ECONNREFUSED;
};

}  // namespace

Result<int> dial(const std::string& host, uint16_t port, int64_t deadline) {
  TRY_ASSIGN(auto addresses, resolve(host, port));
  auto fd = Race(std::move(addresses)).run(deadline);
  if (!fd) return fd.status().annotate("connect to " + host + ":" + std::to_string(port));
  const int one = 1;
  ::setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  ::setsockopt(*fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
  return *fd;
}

}  // namespace aquifer::object::http
