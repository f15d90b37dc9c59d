#include "chunk/read_ahead.h"

#include <gtest/gtest.h>

namespace aquifer::chunk {
namespace {

constexpr uint64_t kBlock = 4 << 20, kFile = 1ull << 30, kMemory = 300 << 20;

// Reads [from, to) in steps and returns how far was fetched; checks that no byte is fetched twice.
uint64_t stream(ReadAhead& r, uint64_t from, uint64_t to, uint64_t step, uint64_t* fetched) {
  uint64_t most = 0;
  for (uint64_t at = from; at < to; at += step) {
    auto range = r.next(at, step, kFile, 0);
    if (range.len == 0) continue;
    EXPECT_GE(range.off, most);
    most = range.off + range.len;
    *fetched += range.len;
  }
  return most;
}

TEST(ReadAhead, aStreamFromTheStartGrowsItsWindow) {
  ReadAhead r(kBlock, 8 * kBlock, kMemory);
  uint64_t fetched = 0;
  const uint64_t to = stream(r, 0, 64 << 20, 128 << 10, &fetched);
  EXPECT_GE(to, (64ull << 20) + 4 * kBlock);
  EXPECT_LE(to, (64ull << 20) + 9 * kBlock);
  EXPECT_EQ(to % kBlock, 0u);
}

TEST(ReadAhead, randomReadsFetchNothing) {
  ReadAhead r(kBlock, 8 * kBlock, kMemory);
  uint64_t x = 12345, fetched = 0;
  for (int i = 0; i < 1000; ++i) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    fetched += r.next(4096 + (x >> 20) % (kFile / 4096 - 1) * 4096, 4096, 1ull << 40, 0).len;
  }
  // Two neighbours now and then look like a stream for a moment.
  EXPECT_LT(fetched, 60 * kBlock);
}

TEST(ReadAhead, twoStreamsDoNotDisturbEachOther) {
  ReadAhead r(kBlock, 8 * kBlock, kMemory);
  uint64_t a = 0, b = 0;
  for (uint64_t i = 0; i < 512; ++i) {
    a += r.next(i << 17, 1 << 17, kFile, 0).len;
    b += r.next((512ull << 20) + (i << 17), 1 << 17, kFile, 0).len;
  }
  EXPECT_GE(a, 64u << 20);
  EXPECT_GE(b, 64u << 20);
}

TEST(ReadAhead, endsWithTheFileAndWithMemory) {
  ReadAhead r(kBlock, 8 * kBlock, kMemory);
  auto range = r.next(0, 4096, 10'000, 0);
  EXPECT_EQ(range.off + range.len, 10'000u);
  EXPECT_EQ(r.next(4096, 5904, 10'000, 0).len, 0u);
  ReadAhead tight(kBlock, 8 * kBlock, 4 << 20);   // not even one block fits
  EXPECT_EQ(tight.next(0, 4096, kFile, 0).len, 0u);
  ReadAhead busy(kBlock, 8 * kBlock, kMemory);
  uint64_t used = 0;
  for (uint64_t at = 0; at < 16 << 20; at += 128 << 10) used += busy.next(at, 128 << 10, kFile, kMemory).len;
  EXPECT_LE(used, 2 * kBlock);   // one window, up to the end of its last block
}

}  // namespace
}  // namespace aquifer::chunk
