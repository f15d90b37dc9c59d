#include "vfs/slow_ops.h"

#include <algorithm>
#include <charconv>

namespace aquifer::vfs {

SlowOps::Second& SlowOps::at(int64_t second) {
  auto& slot = ring_[static_cast<size_t>(second % kSeconds)];
  if (slot.second.load(std::memory_order_acquire) != second) {
    std::lock_guard lock(slot.mu);
    if (slot.second.load(std::memory_order_relaxed) != second) {
      // What others add in this moment may be lost: these are statistics.
      slot.slowest.clear();
      slot.least = 0;
      slot.operations = 0;
      slot.nanos = 0;
      for (auto& s : slot.stages) s = 0;
      slot.second.store(second, std::memory_order_release);
    }
  }
  return slot;
}

void SlowOps::count(int64_t now, int64_t took, const StageNanos& stages) {
  auto& slot = at(now / 1'000'000'000);
  slot.operations.fetch_add(1, std::memory_order_relaxed);
  slot.nanos.fetch_add(took, std::memory_order_relaxed);
  for (size_t i = 0; i < kStages; ++i)
    if (stages[i]) slot.stages[i].fetch_add(stages[i], std::memory_order_relaxed);
}

void SlowOps::keep(SlowOp op) {
  const auto longer = [](const SlowOp& a, const SlowOp& b) { return a.tookNanos > b.tookNanos; };
  if (op.arguments.size() > kArguments) op.arguments.resize(kArguments);
  auto& slot = at(op.endedNanos / 1'000'000'000);
  std::lock_guard lock(slot.mu);
  slot.slowest.push_back(std::move(op));
  std::push_heap(slot.slowest.begin(), slot.slowest.end(), longer);   // the shortest in front
  if (slot.slowest.size() > kPerSecond) {
    std::pop_heap(slot.slowest.begin(), slot.slowest.end(), longer);
    slot.slowest.pop_back();
  }
  if (slot.slowest.size() == kPerSecond) slot.least = slot.slowest.front().tookNanos;
}

SlowOps::Minute SlowOps::minute(int64_t now) {
  Minute out;
  const int64_t oldest = now / 1'000'000'000 - kSeconds;
  for (auto& slot : ring_) {
    std::lock_guard lock(slot.mu);
    if (slot.second.load(std::memory_order_relaxed) <= oldest) continue;
    out.operations += slot.operations.load(std::memory_order_relaxed);
    out.nanos += slot.nanos.load(std::memory_order_relaxed);
    for (size_t i = 0; i < kStages; ++i) out.stages[i] += slot.stages[i].load(std::memory_order_relaxed);
    out.slowest.insert(out.slowest.end(), slot.slowest.begin(), slot.slowest.end());
  }
  std::sort(out.slowest.begin(), out.slowest.end(), [](const SlowOp& a, const SlowOp& b) { return a.tookNanos > b.tookNanos; });
  return out;
}

uint64_t inodeOfArguments(std::string_view text) {
  uint64_t ino = 0;
  if (!text.starts_with('(')) return 0;
  auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), ino);
  return error == std::errc() && end != text.data() + text.size() && (*end == ',' || *end == ')') ? ino : 0;
}

}  // namespace aquifer::vfs
