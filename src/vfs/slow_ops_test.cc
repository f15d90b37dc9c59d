#include "vfs/slow_ops.h"

#include <gtest/gtest.h>

#include <memory>

namespace aquifer::vfs {

namespace {
void happened(SlowOps& ops, int64_t now, int64_t took, StageNanos stages = {}) {
  ops.count(now, took, stages);
  if (ops.amongSlowest(now, took)) ops.keep({now, took, "read", "(" + std::to_string(took) + ",0)", 0, 0, stages});
}
constexpr int64_t kSecond = 1'000'000'000;
}  // namespace

TEST(SlowOps, KeepsTheSlowestOfEachSecond) {
  auto ops = std::make_unique<SlowOps>();
  StageNanos stages{};
  stages[static_cast<size_t>(Stage::network)] = 7;
  for (int64_t took = 1; took <= 1000; ++took) happened(*ops, 100 * kSecond, took, stages);
  happened(*ops, 101 * kSecond, 5);
  auto minute = ops->minute(102 * kSecond);
  EXPECT_EQ(minute.operations, 1001u);
  EXPECT_EQ(minute.nanos, 1000 * 1001 / 2 + 5);
  EXPECT_EQ(minute.stages[static_cast<size_t>(Stage::network)], 7000);
  ASSERT_EQ(minute.slowest.size(), size_t{SlowOps::kPerSecond} + 1);
  EXPECT_EQ(minute.slowest.front().tookNanos, 1000);
  EXPECT_EQ(minute.slowest[15].tookNanos, 985);
  EXPECT_EQ(minute.slowest.back().tookNanos, 5);
  EXPECT_EQ(inodeOfArguments(minute.slowest.front().arguments), 1000u);
}

TEST(SlowOps, ForgetsAfterAMinute) {
  auto ops = std::make_unique<SlowOps>();
  happened(*ops, 100 * kSecond, 5);
  EXPECT_EQ(ops->minute(159 * kSecond).operations, 1u);
  EXPECT_EQ(ops->minute(160 * kSecond).operations, 0u);
  happened(*ops, 160 * kSecond, 9);   // takes over the place of second 100
  auto minute = ops->minute(160 * kSecond);
  EXPECT_EQ(minute.operations, 1u);
  EXPECT_EQ(minute.nanos, 9);
}

TEST(SlowOps, InodeOfLogTexts) {
  EXPECT_EQ(inodeOfArguments("(12,0,4096): 4096"), 12u);
  EXPECT_EQ(inodeOfArguments("(1): (1,[...])"), 1u);
  EXPECT_EQ(inodeOfArguments("()"), 0u);
  EXPECT_EQ(inodeOfArguments("(12"), 0u);
  EXPECT_EQ(inodeOfArguments("12,3"), 0u);
}

}  // namespace aquifer::vfs
