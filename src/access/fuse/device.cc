#include "access/fuse/device.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace aquifer::fuse {

Result<int> openDevice() {
  constexpr const char* kPath = "/dev/fuse";
  int fd = open(kPath, O_RDWR | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT && mknod(kPath, S_IFCHR | 0666, makedev(10, 229)) == 0) {
    fd = open(kPath, O_RDWR | O_CLOEXEC);
  }
  if (fd < 0) return Status(Code::unavailable, std::string("open /dev/fuse: ") + std::strerror(errno));
  return fd;
}

Status cloneDevice(int fd, int mounted) {
  uint32_t source = static_cast<uint32_t>(mounted);
  if (ioctl(fd, kIocClone, &source) == 0) return {};
  // EINVAL: attached already, by a predecessor of this process.
  if (errno == EINVAL) return {};
  return Status(Code::io, std::string("clone /dev/fuse: ") + std::strerror(errno));
}

ReadOutcome readMessage(int fd, std::span<std::byte> buffer, size_t* size, int* error) {
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  if (n >= 0) {
    *size = static_cast<size_t>(n);
    return ReadOutcome::message;
  }
  *error = errno;
  switch (errno) {
    case EINTR:
    case EAGAIN:
    case ENOENT: return ReadOutcome::again;
    case ENODEV:
    case ECONNABORTED: return ReadOutcome::unmounted;
    default: return ReadOutcome::failed;
  }
}

Status writeMessage(int fd, std::span<const std::byte> message) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (write(fd, message.data(), message.size()) >= 0 || errno == ENOENT || errno == ENODEV) return {};
    if (errno != EINTR && errno != EAGAIN)
      return Status(static_cast<Code>(errno), std::string("write to /dev/fuse: ") + std::strerror(errno));
  }
  return Code::interrupted;
}

Status notifyKernel(int fd, Notify code, std::span<const std::byte> body, std::span<const std::byte> tail) {
  OutHeader head{static_cast<uint32_t>(sizeof(OutHeader) + body.size() + tail.size()), static_cast<int32_t>(code), 0};
  iovec parts[3] = {{&head, sizeof head},
                    {const_cast<std::byte*>(body.data()), body.size()},
                    {const_cast<std::byte*>(tail.data()), tail.size()}};
  if (writev(fd, parts, 3) >= 0 || errno == ENOENT) return {};  // ENOENT: the kernel does not know the inode or name
  return Status(static_cast<Code>(errno), std::string("notify the kernel: ") + std::strerror(errno));
}

}  // namespace aquifer::fuse
