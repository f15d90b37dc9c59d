// Watches what a mount is charged for beside --memory-max, ten times a second, and gives back before the bound what can be had again:
// pages of files first, then the kernel's own objects, then read buffers. The parts keep to their shares by themselves (memory_plan.h);
// this is for what no share covers: pages that a read-ahead brought, names and inodes that the kernel remembers, a heap in pieces.
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/control_group.h"

namespace aquifer::cli {

class MemoryGuard {
 public:
  // `squeeze` gives back buffers that nobody uses at the moment.
  MemoryGuard(uint64_t bound, std::function<void()> squeeze);
  ~MemoryGuard();
  uint64_t charged() const { return charged_.load(std::memory_order_relaxed); }   // bytes, at the last look
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void loop();
  pid_t head() const;   // of the processes that are this mount
  uint64_t look();
  void relieve(uint64_t charged);

  const uint64_t bound_;
  const std::function<void()> squeeze_;
  std::optional<ControlGroup> group_;
  const pid_t supervisor_;
  bool ours_ = false;   // the group's account is ours alone
  std::atomic<uint64_t> charged_{0}, peak_{0};
  int64_t reclaimedNanos_ = 0;
  bool saidRefused_ = false;
  std::mutex mu_;
  std::condition_variable tick_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace aquifer::cli
