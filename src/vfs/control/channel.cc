#include "vfs/control/channel.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/bytes.h"
#include "base/clock.h"
#include "vfs/control/runner.h"

namespace aquifer::vfs {

Status ControlChannel::write(const meta::Context& ctx, std::string_view bytes) {
  std::unique_lock lock(mu_);
  if (running_) return Code::busy;
  if (request_.size() + bytes.size() > kMaxRequest) return Code::tooBig;
  request_ += bytes;
  stream_ += bytes;
  if (request_.size() < 8) return {};
  uint32_t command = loadBig<uint32_t>(request_.data()), length = loadBig<uint32_t>(request_.data() + 4);
  if (length > kMaxRequest) return Code::tooBig;
  if (request_.size() < 8 + size_t{length}) return {};
  bool excess = request_.size() > 8 + size_t{length};
  std::string body = request_.substr(8, length);
  request_.clear();
  if (excess) {
    stream_.push_back(static_cast<char>(EIO));
    return {};
  }
  running_ = true;
  cancelled_ = false;
  done_ = total_ = 0;
  nextProgress_ = monotonicNanos() + kProgressMs * 1'000'000;
  lock.unlock();
  runner_.start(shared_from_this(), ctx, command, std::move(body));
  return {};
}

void ControlChannel::appendProgressLocked() {
  stream_.push_back(static_cast<char>(0xFE));
  appendBig<uint64_t>(stream_, done_);
  appendBig<uint64_t>(stream_, total_);
}

void ControlChannel::finish(std::string reply) {
  std::lock_guard lock(mu_);
  if (done_ || total_) appendProgressLocked();
  stream_ += reply;   // in one go: a reader takes 0 bytes for the end of the data
  running_ = false;
  changed_.notify_all();
}

size_t ControlChannel::read(uint64_t off, std::span<std::byte> out, const std::function<bool()>& interrupted) {
  using namespace std::chrono;
  std::unique_lock lock(mu_);
  // Whoever reads a running command waits for its next sign of life rather than asking again at once.
  while (running_ && off >= trimmed_ + stream_.size()) {
    int64_t now = monotonicNanos();
    if (now >= nextProgress_) {
      appendProgressLocked();
      nextProgress_ = now + kProgressMs * 1'000'000;
      break;
    }
    if (interrupted && interrupted()) return 0;
    changed_.wait_for(lock, nanoseconds(std::min<int64_t>(nextProgress_ - now, 100'000'000)));
  }
  if (off < trimmed_ || off >= trimmed_ + stream_.size()) return 0;
  size_t at = off - trimmed_, n = std::min(out.size(), stream_.size() - at);
  std::memcpy(out.data(), stream_.data() + at, n);
  if (at > kKeptBytes) {   // long replies and hours of progress must not pile up
    stream_.erase(0, at);
    trimmed_ = off;
  }
  return n;
}

}  // namespace aquifer::vfs
