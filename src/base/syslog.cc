#include "base/syslog.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"

namespace aquifer::log {

namespace {
constexpr size_t kMaxLineBytes = 8 * 1024;  // daemons cut there as well
}

Syslog::~Syslog() {
  if (fd_ >= 0) close(fd_);
}

bool Syslog::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (fd_ >= 0) close(fd_);
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool Syslog::write(int severity, std::string_view line) {
  const std::string stamp = localTimeText(unixSeconds(), "%b %e %H:%M:%S");
  const std::string packet =
      fmt::format("<{}>{} juicefs[{}]: {}", LOG_USER | severity, stamp, getpid(), line.substr(0, kMaxLineBytes));
  for (int i = 0; i < 2; i++) {
    if ((fd_ >= 0 || connect()) && send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL) >= 0) return true;
    if (errno == EAGAIN) return false;  // the daemon does not keep up
    // It may have been restarted: its old socket is dead, and a new one has the name.
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  return false;
}

}  // namespace aquifer::log
