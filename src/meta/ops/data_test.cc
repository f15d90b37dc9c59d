// Slices of files: writes, appends, lengths, holes, shared copies, and what becomes of them.
#include <fcntl.h>

#include <atomic>
#include <mutex>

#include "meta/model/slices.h"
#include "meta/ops/testing.h"

namespace aquifer::meta {

class DataTest : public MetaTest {
 protected:
  SliceList chunk(Ino ino, uint32_t index) {
    auto r = meta_->readChunk(ino, index);
    EXPECT_TRUE(r.isOk()) << textOf(r);
    return r ? *r : SliceList();
  }
  static Slice hole(uint32_t pos, uint32_t len) { return {.pos = pos, .id = 0, .size = 0, .off = 0, .len = len}; }
  // Deletions happen in the background; a session's end would leave the rest to others.
  void waitFor(const std::function<bool()>& done) {
    for (int i = 0; i < 2000 && !done(); i++) usleep(5000);
    EXPECT_TRUE(done());
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, DataTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

constexpr uint32_t kC = kChunkSize;

TEST_P(DataTest, WritePublishesLengthTimesAndUsage) {
  auto f = mk(1, "f");
  auto s = put(f, kChunkSize + 10, 5000);
  EXPECT_EQ(chunk(f, 1), SliceList{s});
  EXPECT_EQ(chunk(f, 0), SliceList{});
  auto a = attrOf(f);
  EXPECT_EQ(a.length, kChunkSize + 5010);
  EXPECT_EQ(a.mtime, (Time{1000, 5}));
  EXPECT_EQ(usedSpace(), static_cast<int64_t>(kChunkSize) + 8192);
  auto id = meta_->newSliceId();
  auto w = meta_->write(f, 1, {0, *id, 10, 0, 10}, Time{2000, 0});
  AQ_ASSERT_OK(w);
  EXPECT_EQ(w->recordCount, 2u);
  EXPECT_EQ(w->length, a.length);
  auto d = mkdir(1, "d");
  EXPECT_EQ(meta_->write(d, 0, {0, *meta_->newSliceId(), 1, 0, 1}, {}).code(), Code::notPermitted);
  EXPECT_EQ(meta_->write(999'999, 0, {0, *meta_->newSliceId(), 1, 0, 1}, {}).code(), Code::notFound);
  EXPECT_EQ(meta_->write(f, 0, {kC - 1, *meta_->newSliceId(), 2, 0, 2}, {}).code(), Code::invalid);
  EXPECT_EQ(meta_->readChunk(999'999, 0).code(), Code::notFound);
}

TEST_P(DataTest, AppendStandsWhereTheFileEnds) {
  auto f = mk(1, "f");
  AQ_ASSERT_OK(meta_->truncate(root, f, kChunkSize - 3, false));
  auto id = *meta_->newSliceId();
  auto w = meta_->append(f, id, 100, 20, 10, Time{7, 0});
  AQ_ASSERT_OK(w);
  EXPECT_EQ(w->offset, kChunkSize - 3);
  EXPECT_EQ(w->length, kChunkSize + 7);
  EXPECT_EQ(chunk(f, 0).back(), (Slice{kC - 3, id, 100, 20, 3}));
  EXPECT_EQ(chunk(f, 1), (SliceList{{0, id, 100, 23, 7}}));
  EXPECT_EQ(raw<int64_t>(key::sliceRef(id, 100)), 2);
  auto next = *meta_->newSliceId();
  w = meta_->append(f, next, 5, 0, 5, Time{8, 0});
  AQ_ASSERT_OK(w);
  EXPECT_EQ(w->offset, kChunkSize + 7);
  EXPECT_EQ(w->recordCount, 2u);
}

TEST_P(DataTest, TruncateLeavesHolesBothWays) {
  auto f = mk(1, "f");
  put(f, 0, 1000);
  put(f, kChunkSize * 2, 10);
  AQ_ASSERT_OK(meta_->truncate(root, f, 100, false));
  EXPECT_EQ(chunk(f, 0).back(), hole(100, kC - 100));
  EXPECT_EQ(chunk(f, 1), SliceList{});  // no record for a chunk that was never written
  EXPECT_EQ(chunk(f, 2).back(), hole(0, 10));
  EXPECT_EQ(usedSpace(), 4096);
  AQ_ASSERT_OK(meta_->truncate(root, f, 5000, false));
  EXPECT_EQ(chunk(f, 0).back(), hole(100, 4900));
  EXPECT_EQ(attrOf(f).length, 5000u);
  EXPECT_EQ(usedSpace(), 8192);
  auto before = attrOf(f);
  AQ_ASSERT_OK(meta_->truncate(root, f, 5000, false));
  EXPECT_GT(attrOf(f).mtime, before.mtime);   // as a local file system: the times move, the slices do not
  EXPECT_EQ(attrOf(f).length, before.length);
  EXPECT_EQ(chunk(f, 0).back(), hole(100, 4900));
  auto g = mk(1, "g");
  AQ_ASSERT_OK(meta_->truncate(root, g, 10, false));
  EXPECT_EQ(chunk(g, 0), SliceList{hole(0, 10)});
  EXPECT_EQ(meta_->truncate(root, g, kMaxFileSize + 1, false).code(), Code::fileTooBig);
  EXPECT_EQ(meta_->truncate(root, 1, 10, false).code(), Code::notPermitted);
  EXPECT_EQ(meta_->truncate(user(5), g, 1, false).code(), Code::accessDenied);
  AQ_EXPECT_OK(meta_->truncate(user(5), g, 1, true));
}

TEST_P(DataTest, FallocateModes) {
  auto f = mk(1, "f");
  auto falloc = [&](uint32_t mode, uint64_t off, uint64_t size) { return meta_->fallocate(root, f, mode, off, size).code(); };
  EXPECT_EQ(falloc(0, 0, 0), Code::invalid);
  EXPECT_EQ(falloc(kFallocCollapse, 0, 4096), Code::unsupported);
  EXPECT_EQ(falloc(kFallocInsert, 0, 4096), Code::unsupported);
  EXPECT_EQ(falloc(kFallocInsert | kFallocKeepSize, 0, 4096), Code::invalid);
  EXPECT_EQ(falloc(kFallocPunchHole, 0, 4096), Code::invalid);
  EXPECT_EQ(falloc(0, UINT64_MAX - 5, 10), Code::fileTooBig);
  EXPECT_EQ(falloc(0, 0, 10'000), Code::ok);
  EXPECT_EQ(attrOf(f).length, 10'000u);
  EXPECT_EQ(falloc(kFallocKeepSize, 0, 20'000), Code::ok);
  EXPECT_EQ(attrOf(f).length, 10'000u);
  EXPECT_EQ(usedSpace(), 12'288);
  auto s = put(f, 0, 10'000);
  EXPECT_EQ(falloc(kFallocPunchHole | kFallocKeepSize, 8000, 5000), Code::ok);
  EXPECT_EQ(chunk(f, 0), (SliceList{s, hole(8000, 2000)}));
  EXPECT_EQ(falloc(kFallocZeroRange, 9000, 5000), Code::ok);
  EXPECT_EQ(attrOf(f).length, 14'000u);
  EXPECT_EQ(chunk(f, 0).back(), hole(9000, 1000));
  auto p = mk(1, "p", FileType::fifo);
  EXPECT_EQ(meta_->fallocate(root, p, 0, 0, 1).code(), Code::brokenPipe);
}

TEST_P(DataTest, CopyRangeSharesSlices) {
  auto f = mk(1, "f"), g = mk(1, "g");
  auto s = put(f, 100, 1000);
  put(g, 0, 5000);
  uint64_t length = 0;
  auto n = meta_->copyFileRange(root, f, 50, g, kChunkSize - 300, 5000, &length);
  AQ_ASSERT_OK(n);
  EXPECT_EQ(*n, 1050u);  // cut at the end of the source
  EXPECT_EQ(length, kChunkSize + 750);
  EXPECT_EQ(chunk(g, 0)[1], hole(kC - 300, 50));
  EXPECT_EQ(chunk(g, 0)[2], (Slice{kC - 250, s.id, 1000, 0, 250}));
  EXPECT_EQ(chunk(g, 1), (SliceList{{0, s.id, 1000, 250, 750}}));
  EXPECT_EQ(raw<int64_t>(key::sliceRef(s.id, s.size)), 3);
  EXPECT_EQ(meta_->copyFileRange(root, f, 5000, g, 0, 10, &length).code(), Code::ok);
  EXPECT_EQ(meta_->copyFileRange(root, f, 0, f, 50, 100, &length).code(), Code::invalid);
  AQ_EXPECT_OK(meta_->copyFileRange(root, f, 0, f, 2000, 200, &length));
  EXPECT_EQ(length, 2200u);
  auto d = mkdir(1, "d");
  EXPECT_EQ(meta_->copyFileRange(root, d, 0, g, 0, 10, &length).code(), Code::invalid);
}

TEST_P(DataTest, DeletedFilesFreeTheirSlices) {
  std::mutex mu;
  std::map<SliceId, uint32_t> deleted;
  meta_->setDataHooks({.deleteSlice = [&](SliceId id, uint32_t size) -> Status {
    std::lock_guard lock(mu);
    deleted[id] = size;
    return {};
  }});
  auto f = mk(1, "f"), g = mk(1, "g");
  auto own = put(f, 0, 1000), common = put(f, 2000, 500);
  for (uint64_t i = 0; i < 100; i++) put(f, kChunkSize + i * 7, 7);  // more than one transaction's worth
  uint64_t length = 0;
  AQ_ASSERT_OK(meta_->copyFileRange(root, f, 2000, g, 0, 500, &length));
  AQ_ASSERT_OK(meta_->unlink(root, 1, "f"));
  waitFor([&] { return count(Kind::delFile) == 0; });
  EXPECT_EQ(count(Kind::chunk), 1u);
  {
    std::lock_guard lock(mu);
    EXPECT_EQ(deleted.size(), 101u);
    EXPECT_TRUE(deleted.contains(own.id));
    EXPECT_FALSE(deleted.contains(common.id));
  }
  EXPECT_FALSE(raw<int64_t>(key::sliceRef(own.id, own.size)));
  AQ_ASSERT_OK(meta_->unlink(root, 1, "g"));
  waitFor([&] { return count(Kind::delFile) == 0; });
  EXPECT_EQ(count(Kind::chunk), 0u);
  std::lock_guard lock(mu);
  EXPECT_TRUE(deleted.contains(common.id));
}

// An empty file leaves nothing to purge; one that was cut to nothing may still own slices.
TEST_P(DataTest, EmptyFilesLeaveNothingBehind) {
  std::atomic<int> deleted{0};
  meta_->setDataHooks({.deleteSlice = [&](SliceId, uint32_t) -> Status {
    ++deleted;
    return {};
  }});
  for (int i = 0; i < 50; i++) {
    mk(1, "f");
    AQ_ASSERT_OK(meta_->unlink(root, 1, "f"));
    if (meta_->store().traits().embedded) {
      ASSERT_EQ(count(Kind::delFile), 0u);
    }
  }
  waitFor([&] { return count(Kind::delFile) == 0; });
  auto f = mk(1, "f");
  put(f, 0, 1000);
  AQ_ASSERT_OK(meta_->truncate(root, f, 0, false));
  AQ_ASSERT_OK(meta_->unlink(root, 1, "f"));
  waitFor([&] { return deleted == 1 && count(Kind::delFile) == 0; });
  EXPECT_EQ(count(Kind::chunk), 0u);
}

TEST_P(DataTest, AnUnlinkedOpenFileLivesUntilItsClose) {
  auto f = mk(1, "f");
  put(f, 0, 5000);
  AQ_ASSERT_OK(meta_->open(root, f, O_RDWR));
  AQ_ASSERT_OK(meta_->open(root, f, O_RDONLY));
  auto u = meta_->unlink(root, 1, "f");
  AQ_ASSERT_OK(u);
  EXPECT_EQ(u->attr.nlink, 0u);
  EXPECT_TRUE(raw<int64_t>(key::sustained(meta_->sid(), f)));
  EXPECT_EQ(usedInodes(), 1);
  put(f, 5000, 5000);
  EXPECT_EQ(attrOf(f).length, 10'000u);
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetMode, .mode = 0600}));
  audit();
  AQ_ASSERT_OK(meta_->close(f));
  EXPECT_EQ(attrOf(f).nlink, 0u);
  AQ_ASSERT_OK(meta_->close(f));
  EXPECT_EQ(meta_->getattr(root, f).code(), Code::notFound);
  EXPECT_FALSE(raw<int64_t>(key::sustained(meta_->sid(), f)));
  EXPECT_EQ(usedInodes(), 0);
  waitFor([&] { return count(Kind::chunk) == 0; });
}

TEST_P(DataTest, AFileWithoutANameCanGetOne) {
  auto f = mk(1, "tmp");
  AQ_ASSERT_OK(meta_->open(root, f, O_RDWR));
  AQ_ASSERT_OK(meta_->unlink(root, 1, "tmp", true));
  put(f, 0, 5000);
  auto d = mkdir(1, "d");
  auto l = meta_->link(root, f, d, "kept");
  AQ_ASSERT_OK(l);
  EXPECT_EQ(l->attr.nlink, 1u);
  EXPECT_EQ(l->attr.parent, d);
  AQ_ASSERT_OK(meta_->close(f));
  EXPECT_EQ(attrOf(f).length, 5000u);
  EXPECT_EQ(raw<DirStat>(key::dirStat(d)), (DirStat{5000, 8192, 1}));
  auto g = mk(1, "g");
  AQ_ASSERT_OK(meta_->unlink(root, 1, "g"));
  EXPECT_EQ(meta_->link(root, g, d, "g").code(), Code::notFound);
}

}  // namespace aquifer::meta
