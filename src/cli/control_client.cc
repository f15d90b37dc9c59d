#include "cli/control_client.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/errno_text.h"

namespace aquifer::cli {

namespace {
constexpr uint8_t kProgress = 0xFE, kData = 0xFF;
constexpr uint32_t kMostData = 1u << 30;
constexpr int64_t kFirstPauseMs = 1, kLastPauseMs = 300;
}  // namespace

void put8(std::string& out, uint64_t v) { out += static_cast<char>(v); }
void put16(std::string& out, uint64_t v) { appendBig<uint16_t>(out, static_cast<uint16_t>(v)); }
void put32(std::string& out, uint64_t v) { appendBig<uint32_t>(out, static_cast<uint32_t>(v)); }
void put64(std::string& out, uint64_t v) { appendBig<uint64_t>(out, v); }

Result<ControlClient> ControlClient::open(const std::string& path) {
  std::string directory = path;
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return Status(Code(errno), fmt::format("stat {}: {}", path, errnoText(errno)));
  if (!S_ISDIR(st.st_mode)) {
    auto slash = directory.rfind('/');
    directory = slash == std::string::npos ? "." : directory.substr(0, std::max<size_t>(slash, 1));
  }
  int problem = 0;
  for (auto name : {".control", ".jfs.control"}) {   // the second: mounted with --prefix-internal
    auto file = (directory == "/" ? "" : directory) + "/" + name;
    int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    if (fd >= 0) return ControlClient(fd);
    if (!problem || errno != ENOENT) problem = errno;
  }
  return Status(Code(problem), fmt::format("open {}/.control: {}", directory == "/" ? "" : directory, errnoText(problem)));
}

ControlClient::~ControlClient() {
  if (fd_ >= 0) ::close(fd_);
}

Status ControlClient::readSome() {
  std::array<char, 65536> chunk;
  for (int64_t pause = kFirstPauseMs;;) {
    ssize_t n = ::read(fd_, chunk.data(), chunk.size());
    if (n > 0) {
      buffer_.append(chunk.data(), static_cast<size_t>(n));
      return {};
    }
    if (n < 0 && errno != EINTR && errno != EAGAIN) return Status(Code(errno), fmt::format("read the reply of the mount: {}", errnoText(errno)));
    sleepMs(pause);
    pause = std::min(pause * 2, kLastPauseMs);
  }
}

Status ControlClient::need(size_t bytes) {
  while (buffer_.size() < bytes) TRY(readSome());
  return {};
}

Result<ControlReply> ControlClient::call(ControlOp op, std::string_view body, const std::function<void(uint64_t, uint64_t)>& progress) {
  std::string request;
  put32(request, static_cast<uint32_t>(op));
  put32(request, body.size());
  request += body;
  for (size_t sent = 0; sent < request.size();) {
    ssize_t n = ::write(fd_, request.data() + sent, request.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status(Code(n < 0 ? errno : EIO), fmt::format("write to the mount: {}", errnoText(errno)));
    sent += static_cast<size_t>(n);
  }
  buffer_.clear();
  while (true) {
    TRY(need(1));
    // A byte that stands alone is the final errno whatever its value: the mount writes larger items in one piece.
    if (buffer_.size() == 1) return ControlReply{static_cast<uint8_t>(buffer_[0]), {}};
    auto tag = static_cast<uint8_t>(buffer_[0]);
    if (tag == kProgress) {
      TRY(need(17));
      if (progress) progress(loadBig<uint64_t>(buffer_.data() + 1), loadBig<uint64_t>(buffer_.data() + 9));
      buffer_.erase(0, 17);
    } else if (tag == kData) {
      TRY(need(5));
      auto size = loadBig<uint32_t>(buffer_.data() + 1);
      if (size > kMostData) return Status(Code::io, "the mount sent a reply of a size that cannot be");
      TRY(need(5 + static_cast<size_t>(size)));
      return ControlReply{0, buffer_.substr(5, size)};
    } else {
      return Status(Code::io, fmt::format("the mount sent a reply that is not understood (tag {})", tag));
    }
  }
}

}  // namespace aquifer::cli
