// Mounting: mount(2) where we may, else through the set-uid program fusermount3, which sends the descriptor over a socket.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "access/fuse/device.h"
#include "access/fuse/mount_options.h"
#include "access/fuse/server.h"

extern char** environ;

namespace aquifer::fuse {
namespace {

// Runs a program of PATH; its exit status, or -1 if it could not be started. `passed`: a descriptor that it inherits as 3.
int runProgram(std::vector<std::string> argv, const std::vector<std::string>& extraEnv, int passed, std::string* output) {
  std::vector<char*> args, env;
  for (auto& a : argv) args.push_back(a.data());
  args.push_back(nullptr);
  std::vector<std::string> extra = extraEnv;
  for (char** e = environ; *e; ++e) env.push_back(*e);
  for (auto& e : extra) env.push_back(e.data());
  env.push_back(nullptr);
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 2);
  if (passed >= 0) posix_spawn_file_actions_adddup2(&actions, passed, 3);
  pid_t pid = -1;
  const int rc = posix_spawnp(&pid, args[0], &actions, nullptr, args.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  int status = -1;
  if (rc == 0) {
    char buf[1024];
    ssize_t n;
    while ((n = read(out[0], buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)) {
      if (n > 0 && output->size() < 4096) output->append(buf, static_cast<size_t>(n));
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    while (!output->empty() && output->back() == '\n') output->pop_back();
  }
  close(out[0]);
  return status;
}

// One descriptor from a unix socket.
int receiveDescriptor(int socket) {
  char byte;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr msg{};
  msg.msg_iov = &part, msg.msg_iovlen = 1, msg.msg_control = control, msg.msg_controllen = sizeof control;
  ssize_t n;
  while ((n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (n <= 0) return -1;
  const cmsghdr* c = CMSG_FIRSTHDR(&msg);
  if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(sizeof(int))) return -1;
  int fd;
  std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
  return fd;
}

Result<int> mountByProgram(const MountOptions& o) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return Status(Code::io, std::strerror(errno));
  const std::string words = fusermountOptions(o);
  std::string output;
  int rc = -1;
  for (const char* program : {"fusermount3", "fusermount"}) {
    output.clear();
    rc = runProgram({program, "-o", words, "--", o.mountPoint}, {"_FUSE_COMMFD=3"}, pair[1], &output);
    if (rc != -1 && rc != 127) break;
    rc = -1;
  }
  close(pair[1]);
  const int fd = rc == 0 ? receiveDescriptor(pair[0]) : -1;
  close(pair[0]);
  if (fd >= 0) return fd;
  if (rc == -1) return Status(Code::unsupported, "fuse is not installed. Please install it first");
  return Status(Code::io, output.empty() ? "fusermount failed" : output);
}

// "/dev/fd/N": a descriptor that was mounted by who started us.
int givenDescriptor(const std::string& mountPoint) {
  constexpr std::string_view kPrefix = "/dev/fd/";
  if (!mountPoint.starts_with(kPrefix)) return -1;
  int fd = -1;
  const char* end = mountPoint.data() + mountPoint.size();
  auto [p, error] = std::from_chars(mountPoint.data() + kPrefix.size(), end, fd);
  return error == std::errc() && p == end ? fd : -1;
}

}  // namespace

Result<int> mountFuse(const MountOptions& o) {
  TRY(checkMountOptions(o));
  if (const int given = givenDescriptor(o.mountPoint); given >= 0) {
    if (fcntl(given, F_SETFD, FD_CLOEXEC) != 0) return Status(Code::config, o.mountPoint + " is not an open descriptor");
    return given;
  }
  auto device = openDevice();
  if (!device) {
    auto byProgram = mountByProgram(o);
    return byProgram ? byProgram : device.status();
  }
  const int fd = *device;
  const KernelMount k = kernelMount(o, fd);
  if (mount(o.fsName.c_str(), o.mountPoint.c_str(), k.type.c_str(), k.flags, k.data.c_str()) == 0) return fd;
  const int error = errno;
  close(fd);
  auto byProgram = mountByProgram(o);
  if (byProgram || error == EPERM) return byProgram;
  // mount(2) was allowed to us and failed: its reason says more than "not installed".
  if (error == EINVAL && byProgram.is(Code::unsupported)) return byProgram;
  return Status(static_cast<Code>(error), std::string("mount ") + o.mountPoint + ": " + std::strerror(error));
}

Status unmountFuse(const std::string& mountPoint, bool lazy) {
  if (umount2(mountPoint.c_str(), lazy ? MNT_DETACH : 0) == 0) return {};
  const int error = errno;
  if (error == EPERM) {
    std::string output;
    for (const char* program : {"fusermount3", "fusermount"}) {
      output.clear();
      const int rc = runProgram({program, lazy ? "-uz" : "-u", "--", mountPoint}, {}, -1, &output);
      if (rc == 0) return {};
      if (rc != -1 && rc != 127) return Status(Code::busy, output);
    }
  }
  const char* why = error == EBUSY ? "target is busy." : error == EINVAL ? "not mounted." : std::strerror(error);
  return Status(static_cast<Code>(error), "umount: " + mountPoint + ": " + why);
}

}  // namespace aquifer::fuse
