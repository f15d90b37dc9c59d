#include "chunk/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/stages.h"

namespace aquifer::chunk {

namespace {

constexpr size_t kSmallest = 4096;
// From here on memory comes straight from the kernel and goes straight back, so that a burst does not stay in the heap.
constexpr size_t kMapFrom = 128u << 10;
constexpr size_t kIdlePerSize = 8;

size_t capacityFor(size_t bytes) { return std::bit_ceil(std::max(bytes, kSmallest)); }

std::byte* allocate(size_t capacity) {
  if (capacity < kMapFrom) return static_cast<std::byte*>(::operator new(capacity, std::nothrow));
  void* p = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
}

void deallocate(std::byte* data, size_t capacity) {
  if (capacity < kMapFrom)
    ::operator delete(data);
  else
    munmap(data, capacity);
}

}  // namespace

struct BufferPool::Free {
  std::array<std::vector<std::byte*>, 64> bySize;  // index: log2 of the capacity
  std::array<size_t, 64> spare{};                  // how many of them nobody took since the last trim()
  size_t bytes = 0;
};

Buffer::~Buffer() {
  if (data_) pool_->release(data_, capacity_);
}

BufferPool::BufferPool(size_t limitBytes) : limit_(limitBytes), free_(std::make_unique<Free>()) {}

BufferPool::~BufferPool() {
  for (size_t i = 0; i < free_->bySize.size(); ++i)
    for (auto* p : free_->bySize[i]) deallocate(p, size_t{1} << i);
}

BufferRef BufferPool::make(size_t capacity) {
  // mu_ is not held: the bytes were reserved in used_ before.
  std::byte* data = nullptr;
  {
    std::lock_guard lock(mu_);
    auto& idle = free_->bySize[std::countr_zero(capacity)];
    if (!idle.empty()) {
      data = idle.back();
      idle.pop_back();
      free_->bytes -= capacity;
      auto& spare = free_->spare[std::countr_zero(capacity)];
      spare = std::min(spare, idle.size());
    }
  }
  if (!data) data = allocate(capacity);
  if (!data) {
    std::lock_guard lock(mu_);
    used_.fetch_sub(capacity, std::memory_order_relaxed);
    freed_.notify_all();
    return nullptr;
  }
  BufferRef ref(new Buffer);
  ref->pool_ = this;
  ref->data_ = data;
  ref->capacity_ = capacity;
  return ref;
}

void BufferPool::release(std::byte* data, size_t capacity) {
  bool keep = false;
  {
    std::lock_guard lock(mu_);
    auto& idle = free_->bySize[std::countr_zero(capacity)];
    if (idle.size() < kIdlePerSize && free_->bytes + capacity <= limit_ / 8) {
      idle.push_back(data);
      free_->bytes += capacity;
      keep = true;
    }
    used_.fetch_sub(capacity, std::memory_order_relaxed);
    freed_.notify_all();
  }
  if (!keep) deallocate(data, capacity);
}

void BufferPool::trim() {
  std::vector<std::pair<std::byte*, size_t>> gone;
  {
    std::lock_guard lock(mu_);
    for (size_t i = 0; i < free_->bySize.size(); ++i) {
      auto& idle = free_->bySize[i];
      for (size_t n = std::min(free_->spare[i], idle.size()); n > 0; --n) {
        gone.emplace_back(idle.back(), size_t{1} << i);
        free_->bytes -= size_t{1} << i;
        idle.pop_back();
      }
      free_->spare[i] = idle.size();
    }
  }
  for (auto& [data, capacity] : gone) deallocate(data, capacity);
}

size_t BufferPool::idle() const {
  std::lock_guard lock(mu_);
  return free_->bytes;
}

BufferRef BufferPool::tryGet(size_t bytes) {
  const size_t capacity = capacityFor(bytes);
  size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used != 0 && used + capacity > limit_) return nullptr;
  } while (!used_.compare_exchange_weak(used, used + capacity, std::memory_order_relaxed));
  return make(capacity);
}

Result<BufferRef> BufferPool::get(size_t bytes, const std::function<bool()>& interrupted, int64_t waitMs) {
  if (auto ref = tryGet(bytes)) return ref;
  ScopedStage stage(Stage::queue);
  const size_t capacity = capacityFor(bytes);
  const int64_t start = monotonicNanos();
  for (;;) {
    if (interrupted && interrupted()) return Code::interrupted;
    if (waitMs != INT64_MAX && (monotonicNanos() - start) / 1'000'000 >= waitMs) return Code::noMemory;
    bool full;
    {
      std::unique_lock lock(mu_);
      const size_t used = used_.load(std::memory_order_relaxed);
      full = used != 0 && used + capacity > limit_;
      if (full) freed_.wait_for(lock, std::chrono::milliseconds(100));
    }
    if (auto ref = tryGet(bytes)) return ref;
    // There was room and still no buffer: others were faster, or the kernel has no memory and asking on end would not help.
    if (!full) sleepMs(1);
  }
}

}  // namespace aquifer::chunk
