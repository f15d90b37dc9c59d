// The answer to one request, built in a buffer that its thread uses again and again. The payload starts on a page, and the
// header stands right before it, so that a read's bytes are put in place once and leave with one write(2).
// Not thread-safe.
#pragma once

#include <cstring>
#include <span>

#include "access/fuse/protocol.h"
#include "base/status.h"

namespace aquifer::fuse {

class Reply {
 public:
  explicit Reply(size_t payloadLimit);  // memory is taken from the system when it is first touched
  ~Reply();
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  void reset() { size_ = 0, error_ = 0, wanted_ = true; }
  size_t limit() const { return limit_; }
  // All of the payload room; say with setSize how much was used.
  std::span<std::byte> room() { return {payload_, limit_}; }
  void setSize(size_t n) { size_ = n; }
  size_t size() const { return size_; }
  template <class T>
  void put(const T& value) {
    put(&value, sizeof value);
  }
  void put(const void* data, size_t n) {  // callers stay within limit(); more is dropped and the reply becomes EIO
    if (n > limit_ - size_) return fail(EIO);
    if (n) std::memcpy(payload_ + size_, data, n);
    size_ += n;
  }
  void fail(int errnum) { error_ = errnum, size_ = 0; }
  int error() const { return error_; }
  void none() { wanted_ = false; }  // FORGET and INTERRUPT have no answer
  bool wanted() const { return wanted_; }
  // Header and payload as one piece, addressed to `unique`.
  std::span<const std::byte> finish(uint64_t unique);
  std::span<const std::byte> payload() const { return {payload_, size_}; }

 private:
  const size_t limit_;
  size_t mapped_ = 0;
  std::byte* map_ = nullptr;
  std::byte* payload_ = nullptr;
  size_t size_ = 0;
  int error_ = 0;
  bool wanted_ = true;
};

// A page-aligned buffer for requests. The first `present` bytes have memory from the start: a process that is killed while the
// kernel has to find memory for a request that it is just handing over would take the request with it, and its caller would see
// EIO.
class PageBuffer {
 public:
  PageBuffer(size_t bytes, size_t present);
  ~PageBuffer();
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  std::span<std::byte> bytes() { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace aquifer::fuse
