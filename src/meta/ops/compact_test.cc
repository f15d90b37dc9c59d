#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "meta/ops/testing.h"

namespace aquifer::meta {
namespace {

class CompactTest : public MetaTest {
 protected:
  void SetUp() override {
    MetaTest::SetUp();
    meta_->setDataHooks({[this](SliceId id, uint32_t) -> Status {
                           std::lock_guard lock(mu_);
                           deleted_.push_back(id);
                           return {};
                         },
                         [this](const std::vector<Slice>& pieces, SliceId, uint8_t) -> Status {
                           merged_.push_back(pieces);
                           if (const auto meanwhile = std::exchange(during_, {})) meanwhile();
                           return outcome_;
                         }});
  }
  std::vector<SliceId> deleted() {
    std::lock_guard lock(mu_);
    auto d = deleted_;
    std::sort(d.begin(), d.end());
    return d;
  }
  SliceList chunk(Ino ino) { return *meta_->readChunk(ino, 0); }

  std::mutex mu_;
  std::vector<SliceId> deleted_;
  std::vector<std::vector<Slice>> merged_;
  std::function<void()> during_;
  Status outcome_;
};

TEST_P(CompactTest, mergesAndReleases) {
  const Ino f = mk(1, "f");
  const auto a = put(f, 0, 100), b = put(f, 50, 100);
  AQ_ASSERT_OK(meta_->compactChunk(f, 0));
  ASSERT_EQ(merged_.size(), 1u);
  EXPECT_EQ(merged_[0], (std::vector<Slice>{{0, a.id, 100, 0, 50}, {50, b.id, 100, 0, 100}}));
  ASSERT_EQ(chunk(f).size(), 1u);
  const auto c = chunk(f)[0];
  EXPECT_EQ(c, (Slice{0, c.id, 150, 0, 150}));
  EXPECT_EQ(raw<int64_t>(key::sliceRef(c.id, 150)).value_or(1), 1);
  uint64_t removed = 0;
  AQ_EXPECT_OK(meta_->runJob("slices", &removed));
  auto gone = deleted();
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  EXPECT_EQ(gone, (std::vector<SliceId>{a.id, b.id}));
  EXPECT_TRUE(meta_->pendingSlices()->empty());
  AQ_ASSERT_OK(meta_->compactChunk(f, 0));  // nothing left to gain
  EXPECT_EQ(merged_.size(), 1u);
}

TEST_P(CompactTest, theTrashKeepsTheOldSlices) {
  setFormat([](Format& fm) { fm.trashDays = 1; });
  const Ino f = mk(1, "f");
  const auto a = put(f, 0, 100), b = put(f, 50, 100);
  AQ_ASSERT_OK(meta_->compactChunk(f, 0));
  std::vector<SliceId> delayed;
  AQ_ASSERT_OK(meta_->listTrashSlices([&](SliceId id, uint32_t size, int64_t) -> Status {
    EXPECT_EQ(size, 100u);
    delayed.push_back(id);
    return {};
  }));
  EXPECT_EQ(delayed, (std::vector<SliceId>{a.id, b.id}));
  uint64_t removed = 0;
  AQ_EXPECT_OK(meta_->runJob("trash", &removed));  // too young
  EXPECT_EQ(count(Kind::delSlices), 1u);
  setFormat([](Format& fm) { fm.trashDays = 0; });
  AQ_EXPECT_OK(meta_->runJob("trash", &removed));
  AQ_EXPECT_OK(meta_->runJob("slices", &removed));
  EXPECT_EQ(count(Kind::delSlices), 0u);
  auto gone = deleted();
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  EXPECT_EQ(gone, (std::vector<SliceId>{a.id, b.id}));
}

TEST_P(CompactTest, keepsWhatIsAppendedMeanwhile) {
  const Ino f = mk(1, "f");
  put(f, 0, 100);
  put(f, 50, 100);
  Slice late;
  during_ = [&] { late = put(f, 10, 5); };
  AQ_ASSERT_OK(meta_->compactChunk(f, 0));
  ASSERT_EQ(chunk(f).size(), 2u);
  EXPECT_EQ(chunk(f)[1], late);
}

TEST_P(CompactTest, losesAgainstAnotherCompaction) {
  const Ino f = mk(1, "f");
  put(f, 0, 100);
  put(f, 50, 100);
  auto other = another();
  other->setDataHooks({{}, [](const std::vector<Slice>&, SliceId, uint8_t) -> Status { return {}; }});
  during_ = [&] { AQ_EXPECT_OK(other->compactChunk(f, 0)); };
  AQ_ASSERT_OK(meta_->compactChunk(f, 0));
  ASSERT_EQ(chunk(f).size(), 1u);
  const auto winner = chunk(f)[0];
  uint64_t removed = 0;
  AQ_EXPECT_OK(meta_->runJob("slices", &removed));
  EXPECT_TRUE(meta_->pendingSlices()->empty());
  const auto gone = deleted();
  EXPECT_EQ(std::count(gone.begin(), gone.end(), winner.id), 0);
  EXPECT_GE(gone.size(), 3u);  // both old slices and the loser's
  AQ_EXPECT_OK(other->closeSession());
}

TEST_P(CompactTest, aFailedMergeChangesNothing) {
  const Ino f = mk(1, "f");
  const auto a = put(f, 0, 100), b = put(f, 50, 100);
  outcome_ = Code::io;
  EXPECT_TRUE(meta_->compactChunk(f, 0).is(Code::io));
  EXPECT_EQ(chunk(f), (SliceList{a, b}));
  EXPECT_TRUE(meta_->compactChunk(4711, 0).is(Code::notFound));
  meta_->setDataHooks({});
  EXPECT_TRUE(meta_->compactChunk(f, 0).is(Code::unsupported));
}

TEST_P(CompactTest, listings) {
  const Ino f = mk(1, "f");
  const auto a = put(f, 0, 100), b = put(f, kChunkSize, 7);
  AQ_ASSERT_OK(meta_->truncate(root, f, 50, true));
  std::vector<Slice> found;
  AQ_ASSERT_OK(meta_->listSlices([&](Ino ino, const Slice& s) -> Status {
    EXPECT_EQ(ino, f);
    found.push_back(s);
    return {};
  }));
  EXPECT_EQ(found, (std::vector<Slice>{a, b}));
  EXPECT_TRUE(meta_->listSlices([](Ino, const Slice&) -> Status { return Code::busy; }).is(Code::busy));
}

INSTANTIATE_TEST_SUITE_P(Stores, CompactTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

}  // namespace
}  // namespace aquifer::meta
