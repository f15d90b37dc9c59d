// The slowest operations of the last minute, with where their time went, and the sums of all. A bounded ring: per second a few
// operations and one row of sums. Thread-safe; an operation that is not among its second's slowest costs a few relaxed atomics.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "base/stages.h"

namespace aquifer::vfs {

struct SlowOp {
  int64_t endedNanos = 0;    // monotonic
  int64_t tookNanos = 0;
  const char* op = "";
  std::string arguments;     // as in the access log; begins with the inode in parentheses
  uint32_t uid = 0, pid = 0;
  StageNanos stages{};
};

class SlowOps {
 public:
  static constexpr int kSeconds = 60, kPerSecond = 16;
  static constexpr size_t kArguments = 512;   // bytes kept

  // keep() takes an operation that took so long.
  bool amongSlowest(int64_t now, int64_t took) { return took > at(now / 1'000'000'000).least.load(std::memory_order_relaxed); }
  void count(int64_t now, int64_t took, const StageNanos& stages);
  void keep(SlowOp op);

  struct Minute {
    uint64_t operations = 0;
    int64_t nanos = 0;
    StageNanos stages{};
    std::vector<SlowOp> slowest;   // longest first
  };
  Minute minute(int64_t now);

 private:
  struct Second {
    std::atomic<int64_t> second{-1};
    std::atomic<int64_t> least{0};         // an operation has to take longer to be kept
    std::atomic<uint64_t> operations{0};
    std::atomic<int64_t> nanos{0};
    std::array<std::atomic<int64_t>, kStages> stages{};
    std::mutex mu;
    std::vector<SlowOp> slowest;           // guarded by mu
  };
  Second& at(int64_t second);
  std::array<Second, kSeconds> ring_;
};

// Inode in "(12,0,4096): ..."; 0 for other texts.
uint64_t inodeOfArguments(std::string_view arguments);

}  // namespace aquifer::vfs
