// Reference-counted byte buffers from one pool with a hard byte bound. Reader, writer, cache and uploader hand these
// around; bytes are not copied between them. The pool is thread-safe; a Buffer's bytes belong to whoever fills it until
// it is shared, and are read-only afterwards.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "base/status.h"

namespace aquifer::chunk {

class BufferPool;

class Buffer {
 public:
  ~Buffer();
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t capacity() const { return capacity_; }   // a power of two, at least 4 KiB
  size_t size = 0;                                 // bytes in use

 private:
  friend class BufferPool;
  Buffer() = default;
  BufferPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
};
using BufferRef = std::shared_ptr<Buffer>;

class BufferPool {
 public:
  explicit BufferPool(size_t limitBytes);
  ~BufferPool();
  // Waits while the pool is at its bound (checks `interrupted` every 100 ms: Code::interrupted), at most `waitMs` (then noMemory).
  // A single request that is larger than the bound is granted when nothing else is out.
  Result<BufferRef> get(size_t bytes, const std::function<bool()>& interrupted = {}, int64_t waitMs = INT64_MAX);
  // Never waits; nullptr at the bound. For read-ahead and caching, which may as well not happen.
  BufferRef tryGet(size_t bytes);
  // Gives idle memory back that was not needed since the last call.
  void trim();
  size_t idle() const;   // bytes kept for the next request
  size_t used() const { return used_.load(std::memory_order_relaxed); }   // bytes handed out
  size_t limit() const { return limit_; }

 private:
  friend class Buffer;
  BufferRef make(size_t capacity);
  void release(std::byte* data, size_t capacity);
  const size_t limit_;
  std::atomic<size_t> used_{0};
  mutable std::mutex mu_;
  std::condition_variable freed_;
  struct Free;
  std::unique_ptr<Free> free_;   // a few idle buffers per size, not counted in used()
};

}  // namespace aquifer::chunk
