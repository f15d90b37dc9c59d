// Limits and what counts towards them: the volume, directories, users and groups.
#include "meta/ops/testing.h"

namespace aquifer::meta {

class UsageTest : public MetaTest {
 protected:
  void limitDir(Ino dir, int64_t space, int64_t inodes) {
    AQ_ASSERT_OK(meta_->setQuota({Kind::dirQuota, dir}, space, inodes, true));
  }
  Quota quota(Kind kind, uint64_t id) { return raw<Quota>(Key{kind, id, 0, {}}).value_or(Quota{}); }
  Code create(Ino parent, const std::string& name, const Context& ctx = Context::root()) {
    return meta_->mknod(ctx, parent, name, FileType::regular, 0644, 0, 0).code();
  }
  Code write(Ino ino, uint64_t off, uint32_t len) {
    return meta_->write(ino, static_cast<uint32_t>(off / kChunkSize), {static_cast<uint32_t>(off % kChunkSize), *meta_->newSliceId(), len, 0, len}, {})
        .code();
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, UsageTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

TEST_P(UsageTest, VolumeLimits) {
  setFormat([](Format& f) {
    f.capacity = 32'768;
    f.inodes = 4;
  });
  auto f = mk(1, "f");
  EXPECT_EQ(write(f, 0, 32'769), Code::noSpace);
  EXPECT_EQ(attrOf(f).length, 0u);
  EXPECT_EQ(write(f, 0, 20'480), Code::ok);
  EXPECT_EQ(create(1, "b"), Code::ok);
  EXPECT_EQ(create(1, "c"), Code::ok);
  EXPECT_EQ(create(1, "d"), Code::ok);
  EXPECT_EQ(create(1, "e"), Code::noSpace);
  EXPECT_EQ(write(f, 0, 20'480), Code::ok);  // no growth
  EXPECT_EQ(meta_->truncate(root, f, 20'481, true).code(), Code::noSpace);
  EXPECT_EQ(meta_->fallocate(root, f, 0, 0, 20'481).code(), Code::noSpace);
  auto s = meta_->statfs(root, 1);
  AQ_ASSERT_OK(s);
  EXPECT_EQ(s->totalSpace, 32'768u);
  EXPECT_EQ(s->availSpace, 0u);
  EXPECT_EQ(s->totalInodes, 4u);
  EXPECT_EQ(s->availInodes, 0u);
  Entry existing;
  EXPECT_EQ(meta_->mknod(root, 1, "b", FileType::regular, 0644, 0, 0, {}, &existing).code(), Code::exists);
}

TEST_P(UsageTest, UnlimitedVolumesLookLarge) {
  auto s = meta_->statfs(root, 1);
  AQ_ASSERT_OK(s);
  EXPECT_EQ(s->totalSpace, 1ull << 50);
  EXPECT_EQ(s->availInodes, 10ull << 20);
}

TEST_P(UsageTest, DirectoryQuotaCoversTheWholeTree) {
  auto d = mkdir(1, "d"), sub = mkdir(d, "sub");
  limitDir(d, 40'960, 5);
  EXPECT_EQ(quota(Kind::dirQuota, d).usedInodes, 1);  // sub, not d itself
  auto f = mk(sub, "f");
  EXPECT_EQ(write(f, 0, 8192), Code::ok);
  EXPECT_EQ(quota(Kind::dirQuota, d).usedSpace, 12'288);
  EXPECT_EQ(write(f, 0, 40'960), Code::quotaExceeded);
  EXPECT_EQ(meta_->truncate(root, f, 40'960, true).code(), Code::quotaExceeded);
  EXPECT_EQ(create(sub, "g"), Code::ok);
  EXPECT_EQ(create(sub, "h"), Code::ok);
  EXPECT_EQ(create(d, "i"), Code::ok);
  EXPECT_EQ(create(sub, "j"), Code::quotaExceeded);
  EXPECT_EQ(meta_->link(root, f, d, "l").code(), Code::quotaExceeded);
  AQ_ASSERT_OK(meta_->unlink(root, sub, "h"));
  EXPECT_EQ(create(sub, "j"), Code::ok);
  auto s = meta_->statfs(root, sub);
  AQ_ASSERT_OK(s);
  EXPECT_EQ(s->totalSpace, 40'960u);
  EXPECT_EQ(s->availInodes, 0u);
}

TEST_P(UsageTest, NestedQuotasAreAllCharged) {
  auto a = mkdir(1, "a"), b = mkdir(a, "b");
  limitDir(a, -1, 100);
  limitDir(b, -1, 2);
  mk(b, "x");
  mk(b, "y");
  EXPECT_EQ(quota(Kind::dirQuota, a).usedInodes, 3);
  EXPECT_EQ(quota(Kind::dirQuota, b).usedInodes, 2);
  EXPECT_EQ(create(b, "z"), Code::quotaExceeded);
  EXPECT_EQ(create(a, "z"), Code::ok);
  EXPECT_EQ(quota(Kind::dirQuota, a).usedInodes, 4);
}

TEST_P(UsageTest, MovesCarryTheirUsage) {
  auto a = mkdir(1, "a"), b = mkdir(1, "b"), tree = mkdir(a, "tree"), deep = mkdir(tree, "deep");
  auto f = mk(deep, "f");
  EXPECT_EQ(write(f, 0, 100'000), Code::ok);
  limitDir(a, -1, -1);
  limitDir(b, 1 << 20, 4);
  EXPECT_EQ(quota(Kind::dirQuota, a).usedInodes, 3);
  AQ_ASSERT_OK(meta_->rename(root, a, "tree", b, "tree", 0));
  EXPECT_EQ(quota(Kind::dirQuota, a).usedInodes, 0);
  EXPECT_EQ(quota(Kind::dirQuota, a).usedSpace, 0);
  EXPECT_EQ(quota(Kind::dirQuota, b).usedInodes, 3);
  audit();
  mkdir(a, "t2");
  mk(inoOf(a, "t2"), "x");
  EXPECT_EQ(meta_->rename(root, a, "t2", b, "t2", 0).code(), Code::quotaExceeded);
  EXPECT_NE(inoOf(a, "t2"), 0u);
  auto g = mk(a, "g");
  EXPECT_EQ(meta_->rename(root, a, "g", b, "g", 0).code(), Code::ok);
  mk(a, "h");
  EXPECT_EQ(meta_->rename(root, a, "h", b, "h", 0).code(), Code::quotaExceeded);
  EXPECT_EQ(meta_->rename(root, a, "h", b, "g", 0).code(), Code::ok);  // what it replaces makes the room
  EXPECT_EQ(meta_->getattr(root, g).code(), Code::notFound);
  EXPECT_EQ(meta_->rename(root, b, "tree", a, "t2", kRenameExchange).code(), Code::ok);
}

TEST_P(UsageTest, AQuotaGoesWithItsDirectory) {
  auto d = mkdir(1, "d");
  limitDir(d, -1, 1);
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "d"));
  EXPECT_FALSE(raw<Quota>(key::dirQuota(d)));
  setFormat([](Format& f) { f.trashDays = 1; });
  auto e = mkdir(1, "e");
  limitDir(e, -1, 1);
  auto g = mk(e, "g");
  EXPECT_EQ(write(g, 0, 5000), Code::ok);
  AQ_ASSERT_OK(meta_->unlink(root, e, "g"));
  EXPECT_EQ(quota(Kind::dirQuota, e).usedInodes, 0);  // the trash is outside
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "e"));
  EXPECT_FALSE(raw<Quota>(key::dirQuota(e)));
}

TEST_P(UsageTest, HardLinksCountInEveryDirectory) {
  auto a = mkdir(1, "a"), b = mkdir(1, "b");
  auto f = mk(a, "f");
  limitDir(a, -1, -1);
  limitDir(b, 20'000, -1);
  AQ_ASSERT_OK(meta_->link(root, f, b, "f"));
  EXPECT_EQ(write(f, 0, 10'000), Code::ok);
  EXPECT_EQ(quota(Kind::dirQuota, b).usedSpace, 12'288);
  EXPECT_EQ(write(f, 0, 30'000), Code::quotaExceeded);
  AQ_ASSERT_OK(meta_->unlink(root, b, "f"));
  EXPECT_EQ(quota(Kind::dirQuota, b).usedSpace, 0);
}

TEST_P(UsageTest, OwnersAreCounted) {
  auto before = mk(1, "before");
  EXPECT_EQ(write(before, 0, 5000), Code::ok);
  setFormat([](Format& f) { f.userGroupQuota = true; });
  EXPECT_EQ(quota(Kind::userQuota, 0).usedSpace, 8192);  // counted when the feature was switched on
  AQ_ASSERT_OK(meta_->setattr(root, 1, {.mask = kSetMode, .mode = 0777}));
  auto f = meta_->mknod(user(5, 6), 1, "f", FileType::regular, 0644, 0, 0);
  AQ_ASSERT_OK(f);
  EXPECT_EQ(write(f->ino, 0, 10'000), Code::ok);
  EXPECT_EQ(quota(Kind::userQuota, 5).usedSpace, 12'288);
  EXPECT_EQ(quota(Kind::groupQuota, 6).usedInodes, 1);
  AQ_ASSERT_OK(meta_->setQuota({Kind::userQuota, 5}, 16'384, 2, false));
  EXPECT_EQ(write(f->ino, 0, 17'000), Code::quotaExceeded);
  EXPECT_EQ(create(1, "g", user(5, 7)), Code::ok);
  EXPECT_EQ(create(1, "h", user(5, 7)), Code::quotaExceeded);
  EXPECT_EQ(create(1, "h", user(8, 7)), Code::ok);
  AQ_ASSERT_OK(meta_->setQuota({Kind::groupQuota, 7}, -1, 2, false));
  EXPECT_EQ(create(1, "i", user(9, 7)), Code::quotaExceeded);
  AQ_ASSERT_OK(meta_->setattr(root, f->ino, {.mask = kSetUid | kSetGid, .uid = 50, .gid = 60}));
  EXPECT_EQ(quota(Kind::userQuota, 5).usedInodes, 1);
  EXPECT_EQ(quota(Kind::userQuota, 50).usedSpace, 12'288);
  EXPECT_EQ(quota(Kind::groupQuota, 60).usedInodes, 1);
  AQ_ASSERT_OK(meta_->unlink(root, 1, "f"));
  EXPECT_EQ(quota(Kind::userQuota, 50).usedInodes, 0);
}

}  // namespace aquifer::meta
