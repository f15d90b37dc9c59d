// A bandwidth limit. Takers go into debt and wait it off: no request is refused or cut, however large. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>

namespace aquifer::object {

class TokenBucket {
 public:
  // Of `limitBps` (bytes per second, 0 or less: no limit) 85% are given out, the rest is left for headers and retransmission;
  // a tenth of a second's worth of the whole limit may go in one burst.
  void setLimit(int64_t limitBps, int64_t nowNanos);
  // Takes `bytes` and returns the nanoseconds that the caller has to wait before it uses them.
  int64_t reserve(uint64_t bytes, int64_t nowNanos);
  void giveBack(uint64_t bytes);  // reserved, but not used
  void take(uint64_t bytes);      // reserve, and wait

 private:
  std::mutex mu_;
  double bytesPerNano_ = 0;  // 0: no limit
  double burst_ = 0, available_ = 0;
  int64_t filledAt_ = 0;
};

}  // namespace aquifer::object
