#include "object/token_bucket.h"

#include <algorithm>

#include "base/clock.h"

namespace aquifer::object {

namespace {
constexpr double kShare = 0.85;
constexpr double kBurstSeconds = 0.1;
}  // namespace

void TokenBucket::setLimit(int64_t limitBps, int64_t nowNanos) {
  std::lock_guard lock(mu_);
  const double limit = limitBps > 0 ? static_cast<double>(limitBps) : 0;
  bytesPerNano_ = limit * kShare / 1e9;
  burst_ = limit * kBurstSeconds;
  available_ = burst_;
  filledAt_ = nowNanos;
}

int64_t TokenBucket::reserve(uint64_t bytes, int64_t nowNanos) {
  std::lock_guard lock(mu_);
  if (bytesPerNano_ <= 0) return 0;
  available_ = std::min(burst_, available_ + static_cast<double>(std::max<int64_t>(0, nowNanos - filledAt_)) * bytesPerNano_);
  filledAt_ = std::max(filledAt_, nowNanos);
  available_ -= static_cast<double>(bytes);
  return available_ >= 0 ? 0 : static_cast<int64_t>(-available_ / bytesPerNano_);
}

void TokenBucket::giveBack(uint64_t bytes) {
  std::lock_guard lock(mu_);
  available_ = std::min(burst_, available_ + static_cast<double>(bytes));
}

void TokenBucket::take(uint64_t bytes) {
  const int64_t nanos = reserve(bytes, monotonicNanos());
  if (nanos > 0) sleepMs((nanos + 999'999) / 1'000'000);
}

}  // namespace aquifer::object
