#include "cli/memory_plan.h"

#include <gtest/gtest.h>

namespace aquifer::cli {
namespace {

constexpr uint64_t kMiB = 1ull << 20;

chunk::BlockConfig onDisk() {
  chunk::BlockConfig c;
  c.cacheDirs = "/var/tmp/no/such/folder/yet";
  c.uuid = "u";
  return c;
}

// What the parts may take at most, all at once.
uint64_t sum(uint64_t total, const MemoryPlan& plan, const chunk::BlockConfig& c, uint64_t copies) {
  const uint64_t transfers = copies * c.blockSize * static_cast<uint64_t>(c.maxUploads + c.maxDownloads);
  return 40 * kMiB + engineShare(total) + plan.pageCache + plan.serverThreads * (2ull * plan.maxWrite + 65536) + c.bufferSize + c.bufferSize / 4 +
         c.cacheItems * 96 + c.fallbackCacheSize + (copies ? transfers : 0);
}

TEST(MemoryPlan, TheSharesAreNoMoreThanTheWhole) {
  for (const uint64_t mib : {128, 192, 256, 512, 1024, 4096, 65536}) {
    for (const char* compression : {"none", "lz4"}) {
      for (const bool encrypted : {false, true}) {
        auto c = onDisk();
        c.compression = compression;
        c.bufferSize = UINT64_MAX;
        auto plan = planMemory(mib * kMiB, 1 << 20, encrypted, c);
        ASSERT_EQ(plan.isOk(), mib > 128 || (std::string(compression) == "none" && !encrypted)) << mib;
        if (!plan) continue;
        const uint64_t copies = (std::string(compression) == "none" ? 0 : 1) + (encrypted ? 1 : 0);
        EXPECT_LE(sum(mib * kMiB, *plan, c, copies), mib * kMiB) << mib << " " << compression << encrypted;
        EXPECT_GE(plan->serverThreads, 16u);
        EXPECT_GE(c.maxUploads, 1);
      }
    }
  }
}

TEST(MemoryPlan, WhatIsGivenAndSmallerStays) {
  auto c = onDisk();
  c.bufferSize = 32 * kMiB;
  c.cacheItems = 100;
  auto plan = planMemory(1024 * kMiB, 128 << 10, false, c);
  ASSERT_TRUE(plan);
  EXPECT_EQ(c.bufferSize, 32 * kMiB);
  EXPECT_EQ(c.cacheItems, 100u);
  EXPECT_EQ(plan->maxWrite, 128u << 10);
}

TEST(MemoryPlan, WithoutABoundNothingChanges) {
  auto c = onDisk();
  c.bufferSize = 777 * kMiB;
  auto plan = planMemory(0, 1 << 20, true, c);
  ASSERT_TRUE(plan);
  EXPECT_EQ(c.bufferSize, 777 * kMiB);
  EXPECT_EQ(c.cacheItems, 0u);
  EXPECT_EQ(engineShare(0), 0u);
}

TEST(MemoryPlan, ACacheInMemoryIsMemory) {
  for (const char* dirs : {"memory", "/dev/shm/aquifer-plan/x"}) {
    auto c = onDisk();
    c.cacheDirs = dirs;
    ASSERT_TRUE(planMemory(512 * kMiB, 1 << 20, false, c));
    EXPECT_LE(c.cacheSize, 128 * kMiB) << dirs;
  }
  auto c = onDisk();
  c.cacheDirs = "/dev/shm/aquifer-plan/x";
  c.writeback = true;
  const auto refused = planMemory(512 * kMiB, 1 << 20, false, c).status();
  EXPECT_TRUE(refused.is(Code::config));
  EXPECT_NE(refused.text().find("/dev/shm/aquifer-plan/x"), std::string::npos);
}

TEST(MemoryPlan, Texts) {
  EXPECT_EQ(*parseMemoryMax(""), 0u);
  EXPECT_EQ(*parseMemoryMax("192"), 192 * kMiB);
  EXPECT_EQ(*parseMemoryMax("1G"), 1024 * kMiB);
  EXPECT_TRUE(parseMemoryMax("100M").is(Code::config));
  EXPECT_NE(parseMemoryMax("100M").status().text().find("128 MiB"), std::string::npos);
  EXPECT_TRUE(parseMemoryMax("lots").is(Code::config));
}

}  // namespace
}  // namespace aquifer::cli
