#include "vfs/compactor.h"

#include <gtest/gtest.h>

namespace aquifer::vfs {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Small writes all over a chunk of 32 MiB: it is not written again for every few of them.
TEST(Compactor, RecordsPayForTheBytes) {
  const LastCompaction last{.records = 1, .bytes = 32 << 20, .atNanos = 100 * kSecond};
  EXPECT_FALSE(compactionPays(last, 6, 256 << 10, 101 * kSecond));
  EXPECT_FALSE(compactionPays(last, 127, 256 << 10, 101 * kSecond));
  EXPECT_TRUE(compactionPays(last, 128, 256 << 10, 101 * kSecond));
  EXPECT_FALSE(compactionPays(last, 199, 64 << 10, 101 * kSecond));
  EXPECT_TRUE(compactionPays(last, 512, 64 << 10, 101 * kSecond));
}

TEST(Compactor, SmallOrSettledChunksAreCompactedAtOnce) {
  EXPECT_TRUE(compactionPays({.records = 1, .bytes = 100'000, .atNanos = 100 * kSecond}, 6, 256 << 10, 101 * kSecond));
  EXPECT_TRUE(compactionPays({.records = 1, .bytes = 32 << 20, .atNanos = 100 * kSecond}, 6, 256 << 10, 161 * kSecond));
  // However large: a thousand records are too many.
  EXPECT_TRUE(compactionPays({.records = 1, .bytes = uint64_t{1} << 40, .atNanos = 100 * kSecond}, 1000, 64 << 10, 101 * kSecond));
}

TEST(Compactor, WhatCouldNotShrinkIsLeftAlone) {
  EXPECT_FALSE(compactionPays({.records = 40, .bytes = 0, .atNanos = 0}, 42, 256 << 10, 1000 * kSecond));
  EXPECT_TRUE(compactionPays({.records = 40, .bytes = 0, .atNanos = 0}, 45, 256 << 10, 1000 * kSecond));
  EXPECT_TRUE(compactionPays({.records = 40, .bytes = 0, .atNanos = 0}, 12, 256 << 10, 1000 * kSecond));
}

}  // namespace
}  // namespace aquifer::vfs
