#include "vfs/extents.h"

#include <gtest/gtest.h>

#include "vfs/test_support.h"

namespace aquifer::vfs {
namespace {

using meta::kChunkSize;
using meta::Slice;

Slice at(uint32_t pos, uint32_t len, meta::SliceId id = 7) { return {pos, id, id ? len : 0, 0, len}; }

TEST(Extents, DataBytesCountsVisibleDataOnly) {
  EXPECT_EQ(dataBytes({}, 1000), 0u);
  EXPECT_EQ(dataBytes({at(100, 50)}, 1000), 50u);
  EXPECT_EQ(dataBytes({at(100, 50)}, 120), 20u);
  EXPECT_EQ(dataBytes({at(0, 1000), at(200, 300, 0)}, 1000), 700u);
  EXPECT_EQ(dataBytes({at(0, 1000, 0), at(200, 300)}, 1000), 300u);
}

TEST(Extents, NextInChunkFindsDataAndHoles) {
  std::vector<Slice> records = {at(100, 50), at(150, 50, 0), at(300, 100)};
  EXPECT_EQ(nextInChunk(records, 0, 1000, true), 100u);
  EXPECT_EQ(nextInChunk(records, 120, 1000, true), 120u);
  EXPECT_EQ(nextInChunk(records, 150, 1000, true), 300u);
  EXPECT_EQ(nextInChunk(records, 400, 1000, true), 1000u);
  EXPECT_EQ(nextInChunk(records, 0, 1000, false), 0u);
  EXPECT_EQ(nextInChunk(records, 100, 1000, false), 150u);
  EXPECT_EQ(nextInChunk(records, 300, 1000, false), 400u);
  EXPECT_EQ(nextInChunk(records, 310, 350, false), 350u);
  EXPECT_EQ(nextInChunk({}, 5, 10, false), 5u);
  EXPECT_EQ(nextInChunk({}, 5, 10, true), 10u);
  // Neighbouring pieces of data are one extent.
  EXPECT_EQ(nextInChunk({at(0, 10, 1), at(10, 10, 2)}, 0, 100, false), 20u);
}

class SeekTest : public ::testing::TestWithParam<testing::Volume::Kind> {
 protected:
  testing::Volume volume_{GetParam()};
  std::unique_ptr<testing::Client> client_ = volume_.mount();
  testing::Fs fs_{*client_->vfs};
  uint64_t seek(Ino ino, uint64_t off, int whence) {
    auto r = fs_.vfs.lseek(fs_.ctx, ino, 0, off, whence);
    return r ? *r : UINT64_MAX;
  }
};

TEST_P(SeekTest, SeeksAcrossChunksAndVastHoles) {
  auto f = fs_.create(1, "f");
  const uint64_t far = 1000 * kChunkSize + 4096;
  ASSERT_TRUE(fs_.write(f, 8192, std::string(4096, 'a')).isOk());
  ASSERT_TRUE(fs_.write(f, far, std::string(100, 'b')).isOk());
  EXPECT_EQ(seek(f.ino, 0, SEEK_DATA), 8192u);
  EXPECT_EQ(seek(f.ino, 0, SEEK_HOLE), 0u);
  EXPECT_EQ(seek(f.ino, 8192, SEEK_HOLE), 12288u);
  EXPECT_EQ(seek(f.ino, 12288, SEEK_DATA), far);
  EXPECT_EQ(seek(f.ino, 5 * kChunkSize + 1, SEEK_HOLE), 5 * kChunkSize + 1);
  EXPECT_EQ(seek(f.ino, far + 5, SEEK_HOLE), far + 100);
  EXPECT_EQ(fs_.vfs.lseek(fs_.ctx, f.ino, 0, far + 100, SEEK_DATA).code(), Code::noSuchAddress);
  EXPECT_EQ(fs_.vfs.lseek(fs_.ctx, f.ino, 0, far + 100, SEEK_HOLE).code(), Code::noSuchAddress);
  ASSERT_EQ(fs_.truncate(f.ino, far + 10000), Code::ok);
  EXPECT_EQ(fs_.vfs.lseek(fs_.ctx, f.ino, 0, far + 100, SEEK_DATA).code(), Code::noSuchAddress);
  EXPECT_EQ(seek(f.ino, far + 100, SEEK_HOLE), far + 100);
  fs_.close(f);
}

TEST_P(SeekTest, BlockCountsFollowTheSlices) {
  auto f = fs_.create(1, "s");
  ASSERT_EQ(fs_.truncate(f.ino, 64u << 20), Code::ok);
  EXPECT_EQ(fs_.attr(f.ino).blocks512, 0u);
  ASSERT_TRUE(fs_.write(f, 40'000'000, "tail").isOk());
  // Not stored yet, but counted.
  EXPECT_EQ(fs_.attr(f.ino).blocks512, 1u);
  ASSERT_TRUE(fs_.vfs.fsync(fs_.ctx, f.ino, f.fh, false).isOk());
  EXPECT_EQ(fs_.attr(f.ino).blocks512, 1u);
  ASSERT_TRUE(fs_.write(f, 0, std::string(1 << 20, 'x')).isOk());
  fs_.close(f);
  EXPECT_EQ(fs_.attr(f.ino).blocks512, 2048u + 1);
  auto g = fs_.open(f.ino);
  ASSERT_TRUE(fs_.vfs.fallocate(fs_.ctx, f.ino, g.fh, meta::kFallocPunchHole | meta::kFallocKeepSize, 0, 512 << 10).isOk());
  fs_.close(g);
  EXPECT_EQ(fs_.attr(f.ino).blocks512, 1024u + 1);
  // A listing tells the same.
  uint64_t listed = 0;
  auto d = fs_.vfs.opendir(fs_.ctx, 1, 0);
  ASSERT_TRUE(d.isOk());
  ASSERT_TRUE(fs_.vfs.readdir(fs_.ctx, 1, d->fh, 0, true, [&](const DirRow& r) {
    if (r.name == "s" && r.entry) listed = r.entry->blocks512;
    return true;
  }).isOk());
  EXPECT_EQ(listed, 1024u + 1);
  ASSERT_TRUE(fs_.vfs.releasedir(fs_.ctx, 1, d->fh).isOk());
}

TEST_P(SeekTest, SmallFilesCountByLength) {
  fs_.put(1, "small", std::string(1000, 'x'));
  EXPECT_EQ(fs_.attr(fs_.find(1, "small")).blocks512, 2u);
}

INSTANTIATE_TEST_SUITE_P(Stores, SeekTest, ::testing::Values(testing::Volume::Kind::mem, testing::Volume::Kind::sqlite));

}  // namespace
}  // namespace aquifer::vfs
