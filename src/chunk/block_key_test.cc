#include <gtest/gtest.h>

#include "chunk/block_store.h"

namespace aquifer::chunk {
namespace {

TEST(BlockKey, names) {
  EXPECT_EQ(blockKey(5, 2, 2097152, false), "chunks/0/0/5_2_2097152");
  EXPECT_EQ(blockKey(16385, 0, 6, false), "chunks/0/16/16385_0_6");
  EXPECT_EQ(blockKey(1234567890, 0, 6, false), "chunks/1234/1234567/1234567890_0_6");
  EXPECT_EQ(blockKey(1, 0, 120, true), "chunks/01/0/1_0_120");
  EXPECT_EQ(blockKey(255 + 256 * 4000, 3, 1, true), "chunks/FF/1/1024255_3_1");
}

TEST(BlockKey, parses) {
  meta::SliceId id = 0;
  uint32_t index = 0, size = 0;
  ASSERT_TRUE(parseBlockKey("vol/chunks/0/0/5_2_2097152", &id, &index, &size));
  EXPECT_EQ(id, 5u);
  EXPECT_EQ(index, 2u);
  EXPECT_EQ(size, 2097152u);
  ASSERT_TRUE(parseBlockKey("18446744073709551615_0_1", &id, &index, &size));
  EXPECT_EQ(id, UINT64_MAX);
  for (const char* bad : {"", "5", "5_1", "5_1_", "_1_2", "5__2", "5_1_2_3", "5_1_2.tmp", "-5_1_2", "+5_1_2", "5_ 1_2", "a_b_c",
                          "18446744073709551616_0_1", "5_4294967296_1", "5_1_4294967296", "chunks/0/0/5_2_2097152/"})
    EXPECT_FALSE(parseBlockKey(bad, &id, &index, &size)) << bad;
}

}  // namespace
}  // namespace aquifer::chunk
