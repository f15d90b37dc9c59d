#include "chunk/cache/disk_health.h"

#include <cstdlib>

namespace aquifer::chunk {

namespace {

constexpr int64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond;
constexpr int kErrorsToUnstable = 3, kProbesToNormal = 60;

// "30s", "5m", "1h"; a plain number is seconds.
int64_t durationFromEnv(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  if (!text || !*text) return fallback;
  char* end = nullptr;
  const double v = std::strtod(text, &end);
  if (end == text || v < 0 || v > 1e6) return fallback;
  const double unit = *end == 'h' ? 3600 : *end == 'm' && end[1] != 's' ? 60 : *end == 'm' ? 1e-3 : 1;
  return static_cast<int64_t>(v * unit * 1e9);
}

}  // namespace

DiskHealth::DiskHealth(bool enabled)
    : enabled_(enabled),
      slowNanos_(durationFromEnv("JFS_MAX_IO_DURATION", 30 * kSecond)),
      downAfterNanos_(durationFromEnv("JFS_MAX_DURATION_TO_DOWN", 30 * kMinute)) {}

void DiskHealth::failed(int64_t now) {
  if (!enabled_) return;
  std::lock_guard lock(mu_);
  if (state() == State::unstable) {
    goodProbes_ = 0;
    lastBad_ = now;
    return;
  }
  if (state() == State::down) return;
  if (errors_ == 0 || now - windowStart_ > kMinute) {
    errors_ = 0;
    windowStart_ = now;
  }
  if (++errors_ < kErrorsToUnstable) return;
  errors_ = goodProbes_ = 0;
  unstableSince_ = lastBad_ = now;
  state_ = State::unstable;
}

void DiskHealth::probed(bool ok, int64_t now) {
  std::lock_guard lock(mu_);
  if (state() != State::unstable) return;
  if (!ok) {
    goodProbes_ = 0;
    lastBad_ = now;
  } else if (++goodProbes_ >= kProbesToNormal && now - lastBad_ >= kMinute) {
    state_ = State::normal;
    return;
  }
  if (now - unstableSince_ >= downAfterNanos_) state_ = State::down;
}

}  // namespace aquifer::chunk
