// Who of this process waits for which POSIX lock: wakes waiters early, and finds deadlocks. Thread-safe.
//
// A waiter is an owner that cannot have its range. It is stuck for good if the owners in its way wait, directly or over others,
// for a range that it holds itself. The edges between waiters are not kept here, since locks change under polling: candidates()
// gives the waiters, and the caller looks at the stored locks of one instant to see who is in whose way.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "meta/model/types.h"

namespace aquifer::meta {

class LockWaits {
 public:
  struct Waiter {
    uint64_t number = 0;  // grows with the time of arrival
    Ino ino = 0;
    uint64_t owner = 0;
    LockRange want;
  };

  uint64_t arrive(Ino ino, uint64_t owner, const LockRange& want);
  void leave(uint64_t number);
  // All waiters, oldest first; none when fewer than two wait (no cycle), or more than kMost (the answer would cost more than it
  // helps).
  std::vector<Waiter> candidates() const;

  // A lock of this process went away.
  void released();
  // Sleeps until `ms` have passed or a lock of this process went away.
  void sleep(int64_t ms);

 private:
  static constexpr size_t kMost = 1000;
  mutable std::mutex mu_;
  std::condition_variable changed_;
  uint64_t next_ = 1, releases_ = 0;
  std::map<uint64_t, Waiter> waiters_;
};

// Is waiter `me` the newest member of a cycle? edges(i): the indices of the waiters whose owners are in the way of waiter i.
// Exactly one member of a cycle gets true, so that one request fails and the others go on.
Result<bool> closesCycle(const std::vector<LockWaits::Waiter>& waiters,
                         const std::function<Result<std::vector<size_t>>(size_t)>& edges, uint64_t me);

}  // namespace aquifer::meta
