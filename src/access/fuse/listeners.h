// How many threads listen at /dev/fuse. The kernel wakes those that sleep in read(2) in turn, so that many listeners mean cold caches
// and threads that wake for a request which another one has taken meanwhile. As many as there are cores listen; others are parked, and
// take a place when the last listener leaves for something that may last. An operation of a kind that has lately been quick needs no replacement; if it lasts all the same, a watcher brings one after some milliseconds. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "access/fuse/protocol.h"

namespace aquifer::fuse {

class Listeners {
 public:
  static constexpr int64_t kQuickDataNanos = 100'000;
  static constexpr int kSlowCalls = 64;             // that while, in calls of the kind
  static constexpr int kWatchMs = 4;                // nobody has listened for one to two of these: the watcher brings one
  static constexpr int kKeepParkedMs = 30'000;      // then a thread ends, if there are others enough

  // `wanted`: listen at the same time, at least 1. `quickNanos`: what lasts longer makes its kind a slow one for a while.
  // `spawn`: starts a thread that will call join(true); false: none to be had.
  Listeners(int wanted, int64_t quickNanos, std::function<bool()> spawn);
  ~Listeners();   // no thread is inside any more
  // Before a thread listens; returns when there is a place. False: the thread is to end. `first`: it was just spawned.
  bool join(bool first);
  // A message was taken.
  void leave(uint32_t opcode);
  // It is answered.
  void served(uint32_t opcode, int64_t nanos) {
    auto& calls = slow_[kindOf(opcode)];
    if (nanos > quickNanos_ || (nanos > kQuickDataNanos && movesData(opcode)))
      calls.store(kSlowCalls, std::memory_order_relaxed);
    else if (int left = calls.load(std::memory_order_relaxed); left > 0)
      calls.store(left - 1, std::memory_order_relaxed);
  }
  // Ends those that are parked or would be.
  void stop();

  int wanted() const { return wanted_; }
  int listening() const { return listening_.load(); }

 private:
  struct Parked {
    std::condition_variable changed;
    bool called = false;
  };
  static bool movesData(uint32_t opcode) {
    const auto op = static_cast<Op>(opcode);
    return op == Op::read || op == Op::write || op == Op::flush || op == Op::fsync || op == Op::copyFileRange;
  }
  static size_t kindOf(uint32_t opcode) { return opcode % kKinds; }
  void bringOne();
  void watch();

  static constexpr size_t kKinds = 64;
  const int wanted_;
  const int64_t quickNanos_;
  const std::function<bool()> spawn_;
  std::array<std::atomic<int>, kKinds> slow_;   // calls of the kind that are still taken for slow
  std::atomic<int> listening_{0};
  std::atomic<bool> coming_{false};             // one has been called and does not listen yet
  std::atomic<bool> dozing_{false};             // the watcher sleeps until somebody needs it

  std::mutex mu_;   // of what is below
  std::condition_variable watched_;
  std::vector<Parked*> parked_;
  bool stopping_ = false, needed_ = false;
  std::thread watcher_;
};

}  // namespace aquifer::fuse
