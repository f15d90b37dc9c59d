// Where the time of an operation goes. Each thread sums the stages of what it runs; work that other threads do for it counts where
// it waits for them. A scope costs two readings of the clock.
//
// Thread-safe: everything is of the calling thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace aquifer {

enum class Stage : uint8_t {
  queue,     // waiting for memory, a connection or another writer
  metadata,
  cache,     // local disk
  network,   // object storage
  limit,     // held back by --upload-limit and --download-limit
  count,
};
inline constexpr size_t kStages = static_cast<size_t>(Stage::count);
const char* stageName(Stage stage);   // "queue"

using StageNanos = std::array<int64_t, kStages>;

class ScopedStage {
 public:
  explicit ScopedStage(Stage stage) : stage_(stage), outer_(innermost_), start_(monotonicNanos()) { innermost_ = this; }
  // Time in an inner scope counts there only.
  ~ScopedStage() {
    const int64_t took = monotonicNanos() - start_;
    sums_[static_cast<size_t>(stage_)] += took - inner_;
    innermost_ = outer_;
    if (outer_) outer_->inner_ += took;
  }
  ScopedStage(const ScopedStage&) = delete;
  ScopedStage& operator=(const ScopedStage&) = delete;

  // This thread waited for another one, whose stages meanwhile were `work`: the time is shared out as there.
  static void waited(int64_t nanos, const StageNanos& work);
  // What the thread's sums grew by since they were `before`.
  static StageNanos since(const StageNanos& before) {
    StageNanos grown = sums_;
    for (size_t i = 0; i < kStages; ++i) grown[i] -= before[i];
    return grown;
  }
  // Of this thread, ever since it began: an operation takes the difference.
  static const StageNanos& sums() { return sums_; }

 private:
  static inline constinit thread_local StageNanos sums_{};
  static inline constinit thread_local ScopedStage* innermost_ = nullptr;
  const Stage stage_;
  ScopedStage* const outer_;
  const int64_t start_;
  int64_t inner_ = 0;
};

}  // namespace aquifer
