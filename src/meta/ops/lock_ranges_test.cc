#include "meta/ops/lock_ranges.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace aquifer::meta {
namespace {

using Ranges = std::vector<LockRange>;
constexpr uint64_t kEnd = ~0ull;

TEST(LockRanges, splitAndMerge) {
  const Ranges whole = applyRange({}, {1, 7, 0, kEnd});
  EXPECT_EQ(whole, (Ranges{{1, 7, 0, kEnd}}));
  EXPECT_EQ(applyRange(whole, {2, 0, 10, 19}), (Ranges{{1, 7, 0, 9}, {1, 7, 20, kEnd}}));
  EXPECT_EQ(applyRange(whole, {0, 7, 10, 19}), (Ranges{{1, 7, 0, 9}, {0, 7, 10, 19}, {1, 7, 20, kEnd}}));
  EXPECT_EQ(applyRange({{1, 7, 0, 9}, {1, 7, 20, kEnd}}, {1, 7, 10, 19}), whole);
  EXPECT_EQ(applyRange({{1, 7, 0, 9}}, {1, 8, 10, 19}), (Ranges{{1, 7, 0, 9}, {1, 8, 10, 19}}));  // another process: not joined
  EXPECT_EQ(applyRange({{1, 7, 0, 9}}, {1, 7, 11, 19}), (Ranges{{1, 7, 0, 9}, {1, 7, 11, 19}}));  // a byte between them
  EXPECT_TRUE(applyRange(whole, {2, 0, 0, kEnd}).empty());
  EXPECT_EQ(applyRange({{0, 7, 5, kEnd}}, {0, 7, kEnd, kEnd}), (Ranges{{0, 7, 5, kEnd}}));
}

TEST(LockRanges, conflicts) {
  const std::vector<PlockEntry> table{{1, 10, {{0, 5, 0, 9}}}, {2, 10, {{0, 6, 5, 14}, {1, 6, 20, 29}}}};
  EXPECT_FALSE(findConflict(table, 3, 1, {0, 0, 0, 19}));  // readers among themselves
  EXPECT_EQ(findConflict(table, 3, 1, {1, 0, 9, 9})->sid, 1u);
  EXPECT_EQ(findConflict(table, 1, 10, {1, 0, 5, 5})->sid, 2u);  // own ranges are no obstacle; owner numbers repeat over sessions
  EXPECT_EQ(findConflict(table, 3, 1, {0, 0, 29, 40})->range, (LockRange{1, 6, 20, 29}));
  EXPECT_EQ(allConflicts(table, 3, 1, {1, 0, 0, kEnd}).size(), 2u);
  EXPECT_FALSE(findConflict(table, 3, 1, {1, 0, 15, 19}));
}

TEST(LockRanges, behavesLikeAnArrayOfBytes) {
  std::mt19937 rng(3);
  for (int round = 0; round < 300; ++round) {
    std::array<int, 64> bytes;  // -1 free, else type * 4 + pid
    bytes.fill(-1);
    Ranges own;
    for (int step = 0; step < 40; ++step) {
      uint64_t a = rng() % 64, b = rng() % 64;
      if (a > b) std::swap(a, b);
      const LockRange change{static_cast<uint32_t>(rng() % 3), static_cast<uint32_t>(rng() % 2), a, b};
      for (auto i = a; i <= b; ++i) bytes[i] = change.type == 2 ? -1 : static_cast<int>(change.type * 4 + change.pid);
      own = applyRange(own, change);
      std::array<int, 64> got;
      got.fill(-1);
      for (size_t i = 0; i < own.size(); ++i) {
        ASSERT_LE(own[i].start, own[i].end);
        if (i) {
          ASSERT_GT(own[i].start, own[i - 1].end);
          ASSERT_FALSE(own[i].start == own[i - 1].end + 1 && own[i].type == own[i - 1].type && own[i].pid == own[i - 1].pid);
        }
        for (auto k = own[i].start; k <= own[i].end; ++k) got[k] = static_cast<int>(own[i].type * 4 + own[i].pid);
      }
      ASSERT_EQ(got, bytes);
    }
  }
}

}  // namespace
}  // namespace aquifer::meta
