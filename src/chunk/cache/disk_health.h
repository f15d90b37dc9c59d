// Is the cache disk worth using? Three I/O errors in a minute make it unstable: nothing but a probe touches it until a minute of
// probes went well. After half an hour of that it is down for good. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace aquifer::chunk {

class DiskHealth {
 public:
  enum class State { normal, unstable, down };
  // enabled false (writeback): always normal, since staged data must be reached.
  explicit DiskHealth(bool enabled);
  State state() const { return state_.load(std::memory_order_relaxed); }
  bool usable() const { return state() == State::normal; }
  void failed(int64_t nowNanos);                  // an I/O error, or an operation that hung
  void probed(bool ok, int64_t nowNanos);         // the result of a probe while unstable
  int64_t slowNanos() const { return slowNanos_; }

 private:
  const bool enabled_;
  int64_t slowNanos_, downAfterNanos_;
  std::atomic<State> state_{State::normal};
  std::mutex mu_;
  int errors_ = 0, goodProbes_ = 0;
  int64_t windowStart_ = 0, unstableSince_ = 0, lastBad_ = 0;
};

}  // namespace aquifer::chunk
