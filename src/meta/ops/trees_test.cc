// Whole trees: recursive removal, clones, sums, and the way from an inode to its names.
#include <gtest/gtest.h>

#include <thread>

#include "meta/ops/testing.h"

namespace aquifer::meta {
namespace {

class TreesTest : public MetaTest {
 protected:
  // d/{f0..f<files>, link, s, sub/{g, deep/h}}
  Ino tree(Ino parent, const std::string& name, int files = 5) {
    const Ino d = mkdir(parent, name);
    for (int i = 0; i < files; ++i) put(mk(d, "f" + std::to_string(i)), 0, 5000);
    AQ_EXPECT_OK(meta_->link(root, inoOf(d, "f0"), d, "link"));
    mk(d, "s", FileType::symlink);
    const Ino sub = mkdir(d, "sub");
    put(mk(sub, "g"), 100, 10);
    put(mk(mkdir(sub, "deep"), "h"), kChunkSize, 10);
    return d;
  }
  Status removeAll(Ino parent, const std::string& name, bool skipTrash = false) {
    return meta_->removeAll(root, parent, name, skipTrash, 4, {});
  }
  Status clone(Ino src, Ino parent, const std::string& name, uint8_t mode = 0, const Context* ctx = nullptr) {
    return meta_->clone(ctx ? *ctx : root, src, parent, name, mode, 022, 4, {});
  }
  Result<Summary> sum(Ino ino, bool strict) { return meta_->summary(root, ino, true, strict, {}); }
  Ino trashHour() {
    auto hours = meta_->readdir(root, kTrashIno, "", 10, false);
    return hours && !hours->empty() ? hours->front().dentry.ino : 0;
  }
};

TEST_P(TreesTest, removesEverything) {
  tree(1, "d", 250);
  uint64_t done = 0;
  AQ_ASSERT_OK(meta_->removeAll(root, 1, "d", false, 1, [&](uint64_t n, uint64_t) { return done = n, true; }));
  EXPECT_EQ(done, 250u + 7);
  EXPECT_EQ(inoOf(1, "d"), 0u);
  EXPECT_EQ(usedInodes(), 0);
  EXPECT_EQ(usedSpace(), 0);
  EXPECT_EQ(attrOf(1).nlink, 2u);
}

TEST_P(TreesTest, removesASingleFile) {
  mk(1, "f");
  AQ_EXPECT_OK(removeAll(1, "f"));
  EXPECT_EQ(inoOf(1, "f"), 0u);
  EXPECT_TRUE(removeAll(1, "f").is(Code::notFound));
  EXPECT_TRUE(meta_->removeAll(user(5), 1, ".trash", false, 1, {}).is(Code::notPermitted));
  EXPECT_TRUE(removeAll(1, "..").is(Code::notEmpty));
}

TEST_P(TreesTest, removalFillsTheTrash) {
  setFormat([](Format& f) { f.trashDays = 1; });
  tree(1, "d");
  const auto before = usedInodes();
  AQ_ASSERT_OK(removeAll(1, "d"));
  EXPECT_EQ(usedInodes(), before + 1);  // the hour
  const Ino hour = trashHour();
  ASSERT_NE(hour, 0u);
  EXPECT_EQ(meta_->readdir(root, hour, "", 100, false)->size(), 5u + 1 + 1 + 2 + 3);
  EXPECT_TRUE(meta_->removeAll(user(5), hour, "x", false, 1, {}).is(Code::notPermitted));
  tree(1, "e");
  AQ_ASSERT_OK(removeAll(1, "e", true));  // around the trash
  EXPECT_EQ(usedInodes(), before + 1);
  // In the trash removal is for good.
  AQ_ASSERT_OK(removeAll(hour, meta_->readdir(root, hour, "", 1, false)->front().name));
  EXPECT_EQ(meta_->readdir(root, hour, "", 100, false)->size(), 11u);
  // So it is with a whole hour, and with all that the trash holds; the trash itself stays.
  EXPECT_TRUE(meta_->removeAll(user(5), kTrashIno, meta_->readdir(root, kTrashIno, "", 1, false)->front().name, false, 1, {}).is(Code::notPermitted));
  AQ_ASSERT_OK(removeAll(kTrashIno, meta_->readdir(root, kTrashIno, "", 1, false)->front().name));
  EXPECT_EQ(trashHour(), 0u);
  EXPECT_EQ(usedInodes(), 0);
  tree(1, "f");
  AQ_ASSERT_OK(removeAll(1, "f"));
  AQ_ASSERT_OK(removeAll(1, ".trash"));
  EXPECT_EQ(trashHour(), 0u);
  AQ_EXPECT_OK(meta_->getattr(root, kTrashIno));
}

TEST_P(TreesTest, removalStopsAtWhatIsForbidden) {
  const Ino d = tree(1, "d");
  SetAttr immutable;
  immutable.mask = kSetFlags;
  immutable.flags = kFlagImmutable;
  const Ino g = inoOf(inoOf(d, "sub"), "g");
  AQ_ASSERT_OK(meta_->setattr(root, g, immutable));
  EXPECT_TRUE(removeAll(1, "d").is(Code::notPermitted));
  EXPECT_EQ(inoOf(inoOf(d, "sub"), "g"), g);
  EXPECT_TRUE(meta_->removeAll(user(5), 1, "d", false, 1, {}).is(Code::accessDenied));
  bool first = true;
  EXPECT_TRUE(meta_->removeAll(root, 1, "d", false, 1, [&](uint64_t, uint64_t) { return std::exchange(first, false); })
                  .is(Code::notPermitted) ||
              !first);
}

TEST_P(TreesTest, twoClientsRemoveTheSameTree) {
  for (const int days : {0, 1}) {
    setFormat([&](Format& f) { f.trashDays = days; });
    tree(1, "d", 120);
    auto other = another();
    std::thread second([&] {
      const auto s = other->removeAll(root, 1, "d", false, 1, {});
      EXPECT_TRUE(s || s.is(Code::notFound)) << s.text();
    });
    const auto s = removeAll(1, "d");
    EXPECT_TRUE(s || s.is(Code::notFound)) << s.text();
    second.join();
    EXPECT_EQ(inoOf(1, "d"), 0u);
    AQ_EXPECT_OK(other->closeSession());
    audit();
  }
}

TEST_P(TreesTest, creatorsDoNotEscapeARemoval) {
  const Ino d = tree(1, "d", 50);
  auto other = another();
  std::thread creator([&] {
    for (int i = 0; i < 200; ++i) {
      const auto e = other->mknod(root, d, "new" + std::to_string(i), FileType::regular, 0644, 0, 0);
      if (e.is(Code::notFound)) break;  // the directory has gone
    }
  });
  auto s = removeAll(1, "d");
  creator.join();
  EXPECT_TRUE(s || s.is(Code::notEmpty)) << s.text();
  if (!s) AQ_EXPECT_OK(removeAll(1, "d"));
  EXPECT_EQ(usedInodes(), 0);
  AQ_EXPECT_OK(other->closeSession());
}

TEST_P(TreesTest, clonesOfATreeThatChanges) {
  const Ino d = tree(1, "d", 80);
  auto other = another();
  std::thread changer([&] {
    for (int i = 0; i < 80; i += 2) (void)other->unlink(root, d, "f" + std::to_string(i)).isOk();
    for (int i = 0; i < 40; ++i) (void)other->mknod(root, d, "new" + std::to_string(i), FileType::regular, 0644, 0, 0).isOk();
  });
  AQ_EXPECT_OK(clone(d, 1, "c"));
  changer.join();
  EXPECT_EQ(count(Kind::detached), 0u);
  EXPECT_NE(inoOf(inoOf(1, "c"), "sub"), 0u);
  AQ_EXPECT_OK(other->closeSession());
}

TEST_P(TreesTest, openFilesOutliveTheirTree) {
  const Ino d = tree(1, "d");
  const Ino f = inoOf(d, "f1");
  AQ_ASSERT_OK(meta_->open(root, f, 0));
  AQ_ASSERT_OK(removeAll(1, "d"));
  EXPECT_EQ(attrOf(f).nlink, 0u);
  EXPECT_EQ(usedInodes(), 1);
  AQ_EXPECT_OK(meta_->close(f));
  EXPECT_EQ(usedInodes(), 0);
  EXPECT_EQ(count(Kind::sustained), 0u);
}

TEST_P(TreesTest, clonesAFile) {
  const Ino f = mk(1, "f");
  const auto a = put(f, 0, 5000), b = put(f, 1000, 10);
  put(f, kChunkSize + 7, 100);
  AQ_ASSERT_OK(meta_->setxattr(root, f, "user.k", "v", 0));
  AQ_ASSERT_OK(clone(f, 1, "c", 2));
  const Ino c = inoOf(1, "c");
  ASSERT_NE(c, 0u);
  EXPECT_EQ(*meta_->readChunk(c, 0), (std::vector<Slice>{a, b}));
  EXPECT_EQ(*meta_->getxattr(root, c, "user.k"), "v");
  EXPECT_EQ(attrOf(c).length, attrOf(f).length);
  EXPECT_EQ(attrOf(c).mtime, attrOf(f).mtime);
  EXPECT_EQ(raw<int64_t>(key::sliceRef(a.id, a.size)), 2);
  EXPECT_TRUE(clone(f, 1, "c").is(Code::exists));
  EXPECT_TRUE(clone(f, kTrashIno, "x").is(Code::notPermitted));
  EXPECT_TRUE(clone(777, 1, "x").is(Code::notFound));
  AQ_EXPECT_OK(meta_->unlink(root, 1, "f"));
  uint64_t purged = 0;
  AQ_EXPECT_OK(meta_->runJob("files", &purged));
  EXPECT_EQ(raw<int64_t>(key::sliceRef(b.id, b.size)).value_or(1), 1);
}

TEST_P(TreesTest, cloneTakesTheCallerAsOwner) {
  const Ino d = mkdir(1, "d", 0777);
  const Ino f = mk(d, "f", FileType::regular, 0666);
  mkdir(1, "open", 0777);
  const auto me = user(7, 8);
  AQ_ASSERT_OK(clone(d, inoOf(1, "open"), "copy", 0, &me));
  const Ino copy = inoOf(inoOf(1, "open"), "copy");
  EXPECT_EQ(attrOf(copy).uid, 7u);
  EXPECT_EQ(attrOf(inoOf(copy, "f")).gid, 8u);
  EXPECT_EQ(attrOf(inoOf(copy, "f")).mode, 0644);
  SetAttr secret;
  secret.mask = kSetMode;
  secret.mode = 0600;
  AQ_ASSERT_OK(meta_->setattr(root, f, secret));
  EXPECT_TRUE(clone(d, inoOf(1, "open"), "again", 0, &me).is(Code::accessDenied));
  EXPECT_EQ(inoOf(inoOf(1, "open"), "again"), 0u);
  EXPECT_EQ(count(Kind::detached), 0u);  // nothing of it stays
}

TEST_P(TreesTest, clonesATree) {
  const Ino d = tree(1, "d", 60);
  const auto before = usedInodes();
  uint64_t done = 0, total = 0;
  AQ_ASSERT_OK(meta_->clone(root, d, 1, "c", 2, 0, 1, [&](uint64_t n, uint64_t of) { return done = n, total = of, true; }));
  EXPECT_EQ(done, total);
  const Ino c = inoOf(1, "c");
  EXPECT_EQ(attrOf(c).parent, 1u);
  EXPECT_EQ(attrOf(c).nlink, 3u);
  EXPECT_EQ(attrOf(1).nlink, 4u);
  EXPECT_EQ(sum(c, true)->size, sum(d, true)->size);
  EXPECT_EQ(sum(c, true)->files, sum(d, true)->files);
  EXPECT_EQ(usedInodes(), 2 * before + 1);  // the two links of one file have become two files
  EXPECT_EQ(*meta_->readlink(root, inoOf(c, "s")), "target");
  EXPECT_EQ(meta_->readChunk(inoOf(inoOf(inoOf(c, "sub"), "deep"), "h"), 1)->size(), 1u);
  EXPECT_EQ(count(Kind::detached), 0u);
  AQ_EXPECT_OK(clone(d, d, "inside"));  // a copy of itself within itself is finite
  EXPECT_EQ(inoOf(inoOf(d, "inside"), "inside"), 0u);
}

TEST_P(TreesTest, cloneRespectsQuotas) {
  const Ino d = tree(1, "d"), q = mkdir(1, "q");
  AQ_ASSERT_OK(meta_->setQuota({Kind::dirQuota, q}, 1 << 30, 20, false));
  AQ_ASSERT_OK(clone(d, q, "one"));
  EXPECT_EQ((*meta_->getQuota({Kind::dirQuota, q}))->usedInodes, 12);
  EXPECT_TRUE(clone(d, q, "two").is(Code::quotaExceeded));
  EXPECT_EQ((*meta_->getQuota({Kind::dirQuota, q}))->usedInodes, 12);
  EXPECT_EQ(count(Kind::detached), 0u);
}

TEST_P(TreesTest, cancelledCloneLeavesNothing) {
  const Ino d = tree(1, "d");
  const auto space = usedSpace();
  EXPECT_TRUE(meta_->clone(root, d, 1, "c", 0, 0, 1, [](uint64_t n, uint64_t) { return n < 3; }).is(Code::interrupted));
  EXPECT_EQ(inoOf(1, "c"), 0u);
  EXPECT_EQ(usedSpace(), space);
  EXPECT_EQ(count(Kind::detached), 0u);
}

TEST_P(TreesTest, clonesAFileOfVeryManyRecords) {
  if (GetParam() == Backend::memFaults) GTEST_SKIP() << "nothing about faults here";
  const Ino f = mk(1, "f");
  for (uint64_t i = 0; i < 2100; ++i) put(f, (i % 3) * kChunkSize + i * 8, 8);  // beyond what one transaction takes
  AQ_ASSERT_OK(clone(f, 1, "c", 2));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(*meta_->readChunk(inoOf(1, "c"), i), *meta_->readChunk(f, i));
  EXPECT_EQ(attrOf(inoOf(1, "c")).nlink, 1u);
  EXPECT_EQ(count(Kind::sustained), 0u);
  const Ino d = mkdir(1, "d");
  AQ_ASSERT_OK(meta_->link(root, f, d, "f"));
  AQ_ASSERT_OK(clone(d, 1, "e", 2));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(*meta_->readChunk(inoOf(inoOf(1, "e"), "f"), i), *meta_->readChunk(f, i));
}

TEST_P(TreesTest, sums) {
  const Ino d = tree(1, "d");
  for (const bool strict : {false, true}) {
    const auto all = sum(d, strict);
    AQ_ASSERT_OK(all);
    EXPECT_EQ(all->dirs, 3u);
    EXPECT_EQ(all->files, 9u);
    EXPECT_EQ(all->length, 6 * 5000u + 110 + kChunkSize + 10);
    EXPECT_EQ(all->size, 3 * 4096u + 6 * 8192 + 4096 + 4096 + kChunkSize + 4096);
    const auto flat = meta_->summary(root, d, false, strict, {});
    EXPECT_EQ(flat->dirs, 2u);
    EXPECT_EQ(flat->files, 7u);
  }
  EXPECT_EQ(sum(inoOf(d, "f0"), false)->size, 8192u);
  EXPECT_TRUE(sum(12345, false).is(Code::notFound));
}

TEST_P(TreesTest, treeSummaryFoldsTheSmallOnes) {
  const Ino d = tree(1, "d");
  const auto t = meta_->treeSummary(root, d, 2, 3, false, {});
  AQ_ASSERT_OK(t);
  const auto all = sum(d, true);
  EXPECT_EQ(t->size, all->size);
  EXPECT_EQ(t->files, all->files);
  EXPECT_EQ(t->dirs, all->dirs);
  ASSERT_EQ(t->children.size(), 4u);
  EXPECT_EQ(t->children[0].path, "sub");
  EXPECT_EQ(t->children[0].children[0].path, "sub/deep");
  EXPECT_TRUE(t->children[0].children[0].children.empty());
  EXPECT_EQ(t->children[3].path, "...");
  EXPECT_EQ(t->children[3].files, 5u);
  uint64_t size = 4096;
  for (const auto& c : t->children) size += c.size;
  EXPECT_EQ(size, t->size);
  EXPECT_TRUE(meta_->treeSummary(root, d, 0, 3, true, {})->children.empty());
}

TEST_P(TreesTest, paths) {
  setFormat([](Format& f) { f.trashDays = 1; });
  const Ino d = tree(1, "d");
  EXPECT_EQ(*meta_->paths(1), std::vector<std::string>{"/"});
  EXPECT_EQ(*meta_->paths(inoOf(inoOf(inoOf(d, "sub"), "deep"), "h")), std::vector<std::string>{"/d/sub/deep/h"});
  const Ino f0 = inoOf(d, "f0");
  EXPECT_EQ(*meta_->paths(f0), (std::vector<std::string>{"/d/f0", "/d/link"}));
  AQ_ASSERT_OK(meta_->unlink(root, d, "link"));
  const auto p = *meta_->paths(f0);
  ASSERT_EQ(p.size(), 2u);
  EXPECT_EQ(p[0].rfind("/.trash/", 0), 0u);
  EXPECT_EQ(p[1], "/d/f0");
  EXPECT_TRUE(meta_->paths(4242).is(Code::notFound));
}

INSTANTIATE_TEST_SUITE_P(Stores, TreesTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

}  // namespace
}  // namespace aquifer::meta
