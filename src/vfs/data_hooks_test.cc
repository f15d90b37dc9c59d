#include "vfs/data_hooks.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "chunk/block_store.h"
#include "object/object_store.h"

namespace aquifer::vfs {
namespace {

TEST(MergePieces, TheResultIsInTheStoreEvenUnderWriteBack) {
  char folder[] = "/tmp/aquifer-merge-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  object::StoreConfig where;
  where.storage = "mem";
  where.bucket = folder;
  auto objects = object::openDriver(where);
  ASSERT_TRUE(objects);
  chunk::BlockConfig config;
  config.uuid = "merge";
  config.blockSize = 64 << 10;
  config.cacheDirs = folder;
  config.cacheSize = 64 << 20;
  config.freeSpaceRatio = 0;
  config.writeback = true;
  config.uploadDelaySec = 3600;
  {
    auto blocks = chunk::openBlockStore(*std::move(objects), config);
    ASSERT_TRUE(blocks);
    std::string text = "staged";
    auto part = (*blocks)->newSlice(0);
    part->setId(7);
    ASSERT_TRUE(part->writeAt(0, {reinterpret_cast<const std::byte*>(text.data()), text.size()}, {}));
    ASSERT_TRUE(part->finish(6));
    EXPECT_EQ((*blocks)->stagedBytes(), 6u);
    const std::vector<meta::Slice> pieces{{0, 7, 6, 0, 6}, {6, 0, 2, 0, 2}, {8, 7, 6, 2, 4}};
    ASSERT_TRUE(Merger(**blocks).merge(pieces, 8, 0));
    EXPECT_EQ((*blocks)->stagedBytes(), 6u);   // nothing joined it
    EXPECT_EQ(*(*blocks)->objects().getAll("chunks/0/0/8_0_12"), std::string("staged\0\0aged", 12));
  }
  std::filesystem::remove_all(folder);
}

// Each holds what it read and what it writes while it waits for more: in a memory of eight blocks eight of them used to stand still.
TEST(Merger, ManyAtOnceEndInASmallMemory) {
  constexpr uint32_t kBlock = 64 << 10, kBlocks = 12;
  object::StoreConfig where;
  where.storage = "mem";
  where.bucket = "merge-many";
  auto objects = object::openDriver(where);
  ASSERT_TRUE(objects);
  chunk::BlockConfig config;
  config.blockSize = kBlock;
  config.cacheSize = 0;
  config.bufferSize = 8 * kBlock;
  config.leastBufferSize = 0;
  auto blocks = chunk::openBlockStore(*std::move(objects), config);
  ASSERT_TRUE(blocks);
  const std::vector<std::byte> data(kBlock * kBlocks, std::byte{7});
  auto source = (*blocks)->newSlice(0);
  source->setId(1);
  for (uint32_t at = 0; at < data.size(); at += kBlock) {
    ASSERT_TRUE(source->writeAt(at, {data.data() + at, kBlock}, {}));
    source->flushTo(at + kBlock);
  }
  ASSERT_TRUE(source->finish(kBlock * kBlocks));
  Merger merger(**blocks);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      // Off the borders, so that a block of the new slice comes of two.
      const std::vector<meta::Slice> pieces{{0, 1, kBlock * kBlocks, kBlock / 2, kBlock * (kBlocks - 1)}};
      for (uint32_t n = 0; n < 20; ++n) good += merger.merge(pieces, 100 + i * 20 + n, 0).isOk();
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(good, 160);
}

}  // namespace
}  // namespace aquifer::vfs
