#include "meta/ops/lock_waits.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace aquifer::meta {
namespace {

using Waiters = std::vector<LockWaits::Waiter>;

bool closes(const Waiters& waiters, const std::vector<std::vector<size_t>>& edges, uint64_t me) {
  return *closesCycle(
      waiters, [&](size_t i) -> Result<std::vector<size_t>> { return edges[i]; }, me);
}

TEST(LockWaits, onlyTheNewestOfACycleFails) {
  const Waiters w{{1, 1, 10, {}}, {2, 2, 20, {}}, {3, 3, 30, {}}, {4, 4, 40, {}}};
  const std::vector<std::vector<size_t>> ring{{1}, {2}, {0}, {0}};  // 1 -> 2 -> 3 -> 1, and 4 waits for 1
  EXPECT_FALSE(closes(w, ring, 1));
  EXPECT_FALSE(closes(w, ring, 2));
  EXPECT_TRUE(closes(w, ring, 3));
  EXPECT_FALSE(closes(w, ring, 4));  // waits for a cycle without being part of it
  EXPECT_FALSE(closes(w, ring, 9));
}

TEST(LockWaits, twoCyclesThroughOneWaiter) {
  const Waiters w{{1, 1, 10, {}}, {2, 2, 20, {}}, {3, 3, 30, {}}};
  const std::vector<std::vector<size_t>> two{{1, 2}, {0}, {0}};  // 1 <-> 2 and 1 <-> 3
  EXPECT_FALSE(closes(w, two, 1));
  EXPECT_TRUE(closes(w, two, 2));
  EXPECT_TRUE(closes(w, two, 3));
}

TEST(LockWaits, aChainIsNoCycle) {
  const Waiters w{{1, 1, 10, {}}, {2, 2, 20, {}}, {3, 3, 30, {}}};
  EXPECT_FALSE(closes(w, {{1}, {2}, {}}, 1));
  EXPECT_FALSE(closes(w, {{1}, {2}, {}}, 3));
}

TEST(LockWaits, candidatesAreBounded) {
  LockWaits waits;
  const auto first = waits.arrive(1, 10, {});
  EXPECT_TRUE(waits.candidates().empty());
  waits.arrive(1, 11, {});
  EXPECT_EQ(waits.candidates().size(), 2u);
  EXPECT_EQ(waits.candidates()[0].number, first);
  for (uint64_t i = 0; i < 1000; ++i) waits.arrive(1, i, {});
  EXPECT_TRUE(waits.candidates().empty());
}

TEST(LockWaits, aReleaseWakesTheSleeper) {
  LockWaits waits;
  waits.arrive(1, 10, {});
  std::atomic<bool> awake{false};
  std::thread sleeper([&] {
    waits.sleep(600'000);
    awake = true;
  });
  while (!awake) {  // a release before the sleep has begun is lost, as it may be
    waits.released();
    std::this_thread::yield();
  }
  sleeper.join();
}

}  // namespace
}  // namespace aquifer::meta
