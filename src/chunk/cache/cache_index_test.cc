#include "chunk/cache/cache_index.h"

#include <gtest/gtest.h>

#include <set>

namespace aquifer::chunk {
namespace {

BlockId block(uint64_t i, uint32_t size = 1000) { return {i, 0, size}; }

TEST(CacheIndex, accountsBytesPlusOverhead) {
  CacheIndex x;
  EXPECT_TRUE(x.add(block(1), 10));
  EXPECT_FALSE(x.add(block(1), 20));
  EXPECT_TRUE(x.add(block(2, 5000), 10));
  EXPECT_EQ(x.items(), 2u);
  EXPECT_EQ(x.bytes(), 1000u + 5000u + 2 * 4096u);
  EXPECT_TRUE(x.erase(block(1)));
  EXPECT_FALSE(x.erase(block(1)));
  EXPECT_EQ(x.bytes(), 5000u + 4096u);
}

TEST(CacheIndex, lruTakesTheOldestAndOfASecondTheLarger) {
  CacheIndex x;
  x.add(block(1), 30);
  x.add(block(2), 10);
  x.add(block(3, 2000), 10);
  x.add(block(4), 20);
  auto v = x.evict(Eviction::lru, UINT64_MAX, 2, 100, 0);
  ASSERT_EQ(v.size(), 2u);
  EXPECT_EQ(v[0], block(3, 2000));
  EXPECT_EQ(v[1], block(2));
}

TEST(CacheIndex, twoRandomReachesItsGoalAndPrefersTheOld) {
  CacheIndex x;
  for (uint64_t i = 0; i < 10'000; ++i) x.add(block(i), i < 5000 ? 10 : 20);
  auto v = x.evict(Eviction::twoRandom, UINT64_MAX, 7500, 100, 0);
  EXPECT_EQ(v.size(), 2500u);
  EXPECT_EQ(x.items(), 7500u);
  size_t old = 0;
  for (auto& b : v) old += b.id < 5000;
  EXPECT_GT(old, 1600u);  // three quarters are expected
  EXPECT_EQ(std::set<BlockId>(v.begin(), v.end()).size(), v.size());
  x.evict(Eviction::twoRandom, 0, 0, 100, 0);
  EXPECT_EQ(x.items(), 0u);
  EXPECT_EQ(x.bytes(), 0u);
}

TEST(CacheIndex, whatIsUsedAgainOutlivesAScanOfNewerBlocks) {
  CacheIndex x;
  for (uint64_t i = 0; i < 1000; ++i) x.add(block(i), 100);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_TRUE(x.touch(block(i), 200));
  for (uint64_t i = 1000; i < 11'000; ++i) {
    x.add(block(i), 300);
    for (int piece = 0; piece < 8; ++piece) x.touch(block(i), 300);   // one pass over the block
  }
  x.evict(Eviction::twoRandom, UINT64_MAX, 6000, 300, 0);
  size_t kept = 0;
  for (uint64_t i = 0; i < 1000; ++i) kept += x.contains(block(i));
  EXPECT_EQ(x.items(), 6000u);
  EXPECT_GT(kept, 950u);   // by age alone all but a few would have gone
  x.evict(Eviction::twoRandom, 0, 0, 300, 0);   // uses protect for a while, not for ever
  EXPECT_EQ(x.items(), 0u);
}

TEST(CacheIndex, expiredEntriesGoAtOnce) {
  CacheIndex x;
  for (uint64_t i = 0; i < 100; ++i) x.add(block(i), i % 2 ? 10 : 95);
  auto v = x.expired(100, 60, 100'000);
  EXPECT_EQ(v.size(), 50u);
  for (auto& b : v) EXPECT_EQ(b.id % 2, 1u);
}

TEST(CacheIndex, noneNeverEvicts) {
  CacheIndex x;
  x.add(block(1), 1);
  EXPECT_TRUE(x.evict(Eviction::none, 0, 0, 100, 1).empty());
}

TEST(CacheIndex, aScanForgetsWhatIsGone) {
  CacheIndex x;
  x.add(block(1), 10);
  x.add(block(2), 50);
  x.beginScan();
  x.add(block(2), 20);   // met; the time in memory is the later one
  x.add(block(3), 30);
  auto gone = x.endScan();
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0], block(1));
  auto v = x.evict(Eviction::lru, UINT64_MAX, 1, 100, 0);
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0], block(3));
}

}  // namespace
}  // namespace aquifer::chunk
