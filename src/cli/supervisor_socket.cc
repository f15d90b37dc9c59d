#include "cli/supervisor_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "access/fuse/negotiate.h"
#include "base/clock.h"
#include "base/log.h"

namespace aquifer::cli {
namespace {

constexpr size_t kMaxFds = 4, kMaxText = 4096, kMaxConnections = 16;
constexpr int64_t kPatienceNanos = 30'000'000'000;
constexpr const char* kNoSession = "FUSE";
constexpr const char* kNothingBack = "CLOSE";

Status errnoStatus(const std::string& what) { return Status(Code::io, what + ": " + std::strerror(errno)); }

Result<int> connectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Status(Code::config, "socket path is too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errnoStatus("socket");
  const timeval limit{5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const Status s = errnoStatus("connect " + path);
    close(fd);
    return s;
  }
  return fd;
}

void closeAll(const std::vector<int>& fds) {
  for (int fd : fds) close(fd);
}

}  // namespace

Status sendDescriptors(int socket, const std::string& text, const std::vector<int>& fds) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)] = {};
  if (fds.empty() || fds.size() > kMaxFds) return Status(Code::invalid, "wrong number of descriptors");
  msghdr msg{};
  msg.msg_iov = &part, msg.msg_iovlen = 1, msg.msg_control = control, msg.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* c = CMSG_FIRSTHDR(&msg);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
  ssize_t n;
  while ((n = sendmsg(socket, &msg, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return n == static_cast<ssize_t>(text.size()) ? Status() : errnoStatus("send descriptors");
}

Result<std::string> receiveDescriptors(int socket, std::vector<int>* fds) {
  std::string text(kMaxText, '\0');
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFds)];
  msghdr msg{};
  msg.msg_iov = &part, msg.msg_iovlen = 1, msg.msg_control = control, msg.msg_controllen = sizeof control;
  ssize_t n;
  while ((n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (n < 0) return errnoStatus("receive descriptors");
  for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
      int fd;
      std::memcpy(&fd, reinterpret_cast<const char*>(c) + at, sizeof fd);
      fds->push_back(fd);
    }
  }
  text.resize(static_cast<size_t>(n));
  return text;
}

Result<FuseSession> fetchSession(const std::string& path) {
  TRY_ASSIGN(const int fd, connectTo(path));
  std::vector<int> fds;
  auto text = receiveDescriptors(fd, &fds);
  FuseSession session;
  if (text && fds.size() > 1 && text->size() == fuse::kInitRequestSize) {
    session.fd = fds[1], session.init = *text;
    fds.erase(fds.begin() + 1);
  }
  if (text && !fds.empty()) (void)sendDescriptors(fd, kNothingBack, {fds[0]}).isOk();
  closeAll(fds);
  close(fd);
  if (!text) return text.status();
  return session;
}

Status storeSession(const std::string& path, const FuseSession& session) {
  TRY_ASSIGN(const int fd, connectTo(path));
  std::vector<int> fds;
  auto greeting = receiveDescriptors(fd, &fds);
  closeAll(fds);
  Status s = greeting ? sendDescriptors(fd, session.init, {session.fd}) : greeting.status();
  close(fd);
  return s;
}

SessionListener::~SessionListener() {
  for (auto& c : connections_) close(c.fd);
  if (session_.fd >= 0) close(session_.fd);
  if (listen_ >= 0) {
    close(listen_);
    unlink(path_.c_str());
  }
  if (dummy_ >= 0) close(dummy_);
}

Status SessionListener::listen(const std::string& path) {
  path_ = path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Status(Code::config, "socket path is too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  unlink(path.c_str());
  dummy_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  listen_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listen_ < 0 || dummy_ < 0) return errnoStatus("socket");
  const mode_t old = umask(0177);
  const int rc = bind(listen_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(old);
  if (rc != 0 || ::listen(listen_, 16) != 0) return errnoStatus("listen on " + path);
  return {};
}

std::vector<int> SessionListener::descriptors() const {
  std::vector<int> fds{listen_};
  for (const auto& c : connections_) fds.push_back(c.fd);
  return fds;
}

void SessionListener::keep(FuseSession session) {
  if (session_.fd >= 0) close(session_.fd);
  session_ = std::move(session);
  transferred_ = false;
}

void SessionListener::drop() { keep({}); }

void SessionListener::accept(pid_t worker) {
  const int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  // A session is the whole volume: only ourselves and root may have it.
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != geteuid() && peer.uid != 0) ||
      connections_.size() >= kMaxConnections) {
    close(fd);
    return;
  }
  const bool has = session_.fd >= 0;
  std::vector<int> fds{dummy_};
  if (has) fds.push_back(session_.fd);
  if (!sendDescriptors(fd, has ? session_.init : kNoSession, fds)) {
    close(fd);
    return;
  }
  if (has && peer.pid != worker) {
    // Another supervisor has it now, and ours must not keep the connection alive after that one ends.
    LOG_INFO("process {} took the FUSE session", peer.pid);
    close(session_.fd);
    session_.fd = -1;
    transferred_ = true;
  }
  connections_.push_back({fd, peer.pid, monotonicNanos() + kPatienceNanos});
}

void SessionListener::read(size_t i) {
  std::vector<int> fds;
  auto text = receiveDescriptors(connections_[i].fd, &fds);
  if (text && *text != kNothingBack && fds.size() == 1 && text->size() == fuse::kInitRequestSize) {
    keep({fds[0], *text});
    fds.clear();
  }
  closeAll(fds);
}

void SessionListener::handle(pid_t worker) {
  const int64_t now = monotonicNanos();
  for (size_t i = connections_.size(); i-- > 0;) {
    pollfd p{connections_[i].fd, POLLIN, 0};
    const bool ready = poll(&p, 1, 0) == 1;
    if (ready) read(i);
    if (!ready && now < connections_[i].deadline) continue;
    close(connections_[i].fd);
    connections_.erase(connections_.begin() + static_cast<ptrdiff_t>(i));
  }
  accept(worker);
}

}  // namespace aquifer::cli
