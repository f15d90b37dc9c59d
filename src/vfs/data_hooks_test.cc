#include "vfs/data_hooks.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

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
    ASSERT_TRUE(mergePieces(**blocks, pieces, 8, 0));
    EXPECT_EQ((*blocks)->stagedBytes(), 6u);   // nothing joined it
    EXPECT_EQ(*(*blocks)->objects().getAll("chunks/0/0/8_0_12"), std::string("staged\0\0aged", 12));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace aquifer::vfs
