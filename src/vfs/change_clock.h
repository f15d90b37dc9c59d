// When did this client last change an inode? A fixed table of times, so cheap and bounded; two inodes may share a slot, which
// only makes an answer look older than it is. Used to keep attributes that were read earlier (directory pages, replies that raced
// with a write) from reaching the kernel after a change. Thread-safe.
#pragma once

#include <array>
#include <atomic>

#include "base/clock.h"
#include "meta/model/types.h"

namespace aquifer::vfs {

class ChangeClock {
 public:
  void changed(meta::Ino ino) { slot(ino).store(monotonicNanos(), std::memory_order_release); }
  bool changedSince(meta::Ino ino, int64_t monotonic) const { return slot(ino).load(std::memory_order_acquire) >= monotonic; }

 private:
  std::atomic<int64_t>& slot(meta::Ino ino) { return slots_[ino % kSlots]; }
  const std::atomic<int64_t>& slot(meta::Ino ino) const { return slots_[ino % kSlots]; }
  static constexpr size_t kSlots = 8191;  // prime: inode numbers come in strides
  std::array<std::atomic<int64_t>, kSlots> slots_{};
};

}  // namespace aquifer::vfs
