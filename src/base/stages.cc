#include "base/stages.h"

namespace aquifer {

const char* stageName(Stage stage) {
  static constexpr const char* kNames[kStages] = {"queue", "metadata", "cache", "network", "limit"};
  return stage < Stage::count ? kNames[static_cast<size_t>(stage)] : "other";
}

void ScopedStage::waited(int64_t nanos, const StageNanos& work) {
  int64_t total = 0;
  for (auto n : work) total += n;
  for (size_t i = 0; i < kStages && total > 0; ++i)
    sums_[i] += static_cast<int64_t>(static_cast<double>(nanos) * static_cast<double>(work[i]) / static_cast<double>(total));
  if (total <= 0) sums_[static_cast<size_t>(Stage::queue)] += nanos;
  if (innermost_) innermost_->inner_ += nanos;
}

}  // namespace aquifer
