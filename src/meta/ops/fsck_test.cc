#include <gtest/gtest.h>

#include "meta/ops/testing.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {
namespace {

class FsckTest : public MetaTest {
 protected:
  void damage(const std::function<void(MetaTxn&)>& change) {
    AQ_ASSERT_OK(::aquifer::meta::withTxn(
        meta_->store(), {},
        [&](MetaTxn& tx) -> Status {
          change(tx);
          return {};
        },
        {}, [](MetaTxn&) -> Result<bool> { return false; }));
  }
  FsckReport check(bool repair, const std::string& path = "/", bool recursive = true) {
    auto r = meta_->fsck({.path = path, .repair = repair, .recursive = recursive, .syncDirStat = repair && recursive}, {});
    EXPECT_TRUE(r.isOk()) << textOf(r);
    return r ? *r : FsckReport();
  }
  void expectMended(uint64_t problems) {
    EXPECT_EQ(check(false).broken, problems);
    const auto r = check(true);
    EXPECT_EQ(r.broken, problems);
    EXPECT_EQ(r.repaired, problems);
    EXPECT_EQ(check(false).broken, 0u);
    audit();
  }
};

TEST_P(FsckTest, aSoundVolume) {
  setFormat([](Format& f) { f.trashDays = 1; });
  const Ino d = mkdir(1, "d");
  const Ino f = mk(d, "f");
  put(f, 0, 5000);
  AQ_ASSERT_OK(meta_->link(root, f, 1, "l"));
  AQ_ASSERT_OK(meta_->link(root, f, 1, "m"));
  AQ_ASSERT_OK(meta_->unlink(root, 1, "m"));  // one link lives in the trash
  mkdir(d, "e");
  const auto r = check(false);
  EXPECT_EQ(r.broken, 0u) << (r.problems.empty() ? "" : r.problems[0]);
  EXPECT_EQ(r.checked, 5u);  // root, d, f, l, e
  EXPECT_EQ(check(false, "/.trash").broken, 0u);
  EXPECT_EQ(check(false, "/d", false).checked, 1u);
  EXPECT_TRUE(meta_->fsck({.path = "/nowhere"}, {}).is(Code::notFound));
  EXPECT_TRUE(meta_->fsck({}, [](uint64_t, uint64_t) { return false; }).is(Code::interrupted));
}

TEST_P(FsckTest, linkCountsAndParents) {
  const Ino d = mkdir(1, "d"), f = mk(d, "f"), g = mk(d, "g");
  mkdir(d, "e");
  AQ_ASSERT_OK(meta_->link(root, g, 1, "h"));
  damage([&](MetaTxn& tx) {
    Attr a = *tx.node(d);
    a.nlink = 9;
    tx.put(key::node(d), a);
    a = *tx.node(f);
    a.parent = 77;
    tx.put(key::node(f), a);
    a = *tx.node(g);
    a.nlink = 5;
    tx.put(key::node(g), a);
  });
  EXPECT_EQ(check(false).broken, 4u);   // the file with two names is met twice
  EXPECT_EQ(check(true).repaired, 3u);  // and mended at the first time
  EXPECT_EQ(check(false).broken, 0u);
  EXPECT_EQ(attrOf(d).nlink, 3u);
  EXPECT_EQ(attrOf(g).nlink, 2u);
}

TEST_P(FsckTest, entriesWithoutNodes) {
  const Ino d = mkdir(1, "d"), e = mkdir(d, "e");
  mk(e, "inside");
  mkdir(e, "sub");
  const Ino f = mk(d, "f");
  damage([&](MetaTxn& tx) {
    tx.erase(key::node(f));
    tx.erase(key::node(e));
  });
  const auto found = check(false, "/d", false);
  EXPECT_EQ(found.broken, 3u);  // two entries, the statistics
  const auto r = meta_->fsck({.path = "/", .repair = true, .recursive = true, .syncDirStat = true, .repairDirMode = 0700}, {});
  AQ_ASSERT_OK(r);
  EXPECT_EQ(inoOf(d, "f"), 0u);
  EXPECT_EQ(inoOf(d, "e"), e);
  EXPECT_EQ(attrOf(e).mode, 0700);
  EXPECT_EQ(attrOf(e).nlink, 3u);
  EXPECT_EQ(check(true).broken, 0u);
  AQ_EXPECT_OK(meta_->removeAll(root, 1, "d", true, 1, {}));
}

TEST_P(FsckTest, statistics) {
  const Ino d = mkdir(1, "d");
  put(mk(d, "f"), 0, 5000);
  damage([&](MetaTxn& tx) { tx.put(key::dirStat(d), DirStat{-1, 5, 8}); });
  expectMended(1);
  EXPECT_EQ(raw<DirStat>(key::dirStat(d)), (DirStat{5000, 8192, 1}));
  damage([&](MetaTxn& tx) { tx.erase(key::dirStat(d)); });  // legal, made again when asked for
  EXPECT_EQ(check(false).broken, 0u);
  EXPECT_EQ(check(true).broken, 0u);
  EXPECT_EQ(raw<DirStat>(key::dirStat(d)), (DirStat{5000, 8192, 1}));
}

TEST_P(FsckTest, usageOfTheVolume) {
  put(mk(mkdir(1, "d"), "f"), 0, 5000);
  damage([&](MetaTxn& tx) { tx.put(key::counter(counter::kUsedSpace), int64_t{1}); });
  EXPECT_EQ(check(false).broken, 0u);  // looked at only when everything is to be brought in order
  EXPECT_EQ(check(true).repaired, 1u);
  EXPECT_EQ(usedSpace(), 4096 + 8192);
}

INSTANTIATE_TEST_SUITE_P(Stores, FsckTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

}  // namespace
}  // namespace aquifer::meta
