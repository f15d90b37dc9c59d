#include "object/token_bucket.h"

#include <gtest/gtest.h>

namespace aquifer::object {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(TokenBucket, NoLimitNeverWaits) {
  TokenBucket bucket;
  EXPECT_EQ(bucket.reserve(UINT64_MAX / 2, 0), 0);
  bucket.setLimit(0, 0);
  EXPECT_EQ(bucket.reserve(1 << 30, 0), 0);
}

TEST(TokenBucket, BurstThenRate) {
  TokenBucket bucket;
  bucket.setLimit(1000, 0);  // 850 bytes per second, bursts of 100
  EXPECT_EQ(bucket.reserve(100, 0), 0);
  EXPECT_NEAR(bucket.reserve(850, 0), kSecond, 1000);
  // Debt adds up for those who come later.
  EXPECT_NEAR(bucket.reserve(850, 0), 2 * kSecond, 1000);
  EXPECT_NEAR(bucket.reserve(0, kSecond), kSecond, 1000);
  // Paid off, and refilled to one burst only.
  EXPECT_EQ(bucket.reserve(100, 100 * kSecond), 0);
  EXPECT_GT(bucket.reserve(1, 100 * kSecond), 0);
}

TEST(TokenBucket, GiveBack) {
  TokenBucket bucket;
  bucket.setLimit(1000, 0);
  EXPECT_GT(bucket.reserve(1100, 0), 0);
  bucket.giveBack(1000);
  EXPECT_EQ(bucket.reserve(0, 0), 0);
  bucket.giveBack(1'000'000);  // never more than a burst
  EXPECT_EQ(bucket.reserve(100, 0), 0);
  EXPECT_GT(bucket.reserve(1, 0), 0);
}

TEST(TokenBucket, ANewLimitForgetsOldDebt) {
  TokenBucket bucket;
  bucket.setLimit(10, 0);
  EXPECT_GT(bucket.reserve(100'000, 0), 0);
  bucket.setLimit(1'000'000, 0);
  EXPECT_EQ(bucket.reserve(1000, 0), 0);
}

TEST(TokenBucket, AClockThatStandsOrStepsBackGivesNothing) {
  TokenBucket bucket;
  bucket.setLimit(1000, 10 * kSecond);
  EXPECT_EQ(bucket.reserve(100, 10 * kSecond), 0);
  EXPECT_GT(bucket.reserve(10, 5 * kSecond), 0);
  EXPECT_GT(bucket.reserve(0, 10 * kSecond), 0);
}

}  // namespace
}  // namespace aquifer::object
