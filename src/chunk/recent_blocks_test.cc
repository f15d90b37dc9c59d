#include "chunk/recent_blocks.h"

#include <gtest/gtest.h>

namespace aquifer::chunk {
namespace {

constexpr size_t kBlock = 4096, kBlocks = 16;

class RecentBlocksTest : public ::testing::Test {
 protected:
  static BlockId block(uint64_t id) { return {id, 0, kBlock}; }
  void add(uint64_t id) { recent_.add(block(id), pool_.tryGet(kBlock)); }
  BufferPool pool_{1 << 20};
  RecentBlocks recent_{kBlock * kBlocks};
};

TEST_F(RecentBlocksTest, TheOldestGoesFirst) {
  for (uint64_t i = 1; i <= kBlocks; ++i) add(i);
  EXPECT_TRUE(recent_.find(block(1)));   // used again: no longer the oldest
  add(100);
  EXPECT_TRUE(recent_.contains(block(1)));
  EXPECT_FALSE(recent_.contains(block(2)));
  EXPECT_EQ(recent_.bytes(), kBlock * kBlocks);
}

TEST_F(RecentBlocksTest, WhatWasReadToItsEndGoesBeforeWhatWasNot) {
  for (uint64_t i = 1; i <= kBlocks; ++i) add(i);
  recent_.ended(block(9));
  add(100);
  EXPECT_FALSE(recent_.contains(block(9)));
  EXPECT_TRUE(recent_.contains(block(1)));
}

TEST_F(RecentBlocksTest, AnEighthHoldsWhatWasReadToItsEnd) {
  for (uint64_t i = 1; i <= 8; ++i) add(i);
  for (uint64_t i = 1; i <= 8; ++i) recent_.ended(block(i)), recent_.ended(block(i));
  EXPECT_EQ(recent_.bytes(), kBlock * kBlocks / 8);
  EXPECT_TRUE(recent_.contains(block(8)));
  EXPECT_TRUE(recent_.contains(block(7)));
  recent_.remove(block(8));
  recent_.dropIdle(0);
  EXPECT_EQ(recent_.bytes(), 0u);
  EXPECT_EQ(pool_.used(), 0u);
}

}  // namespace
}  // namespace aquifer::chunk
