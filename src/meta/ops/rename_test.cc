#include "meta/ops/testing.h"

namespace aquifer::meta {

class RenameTest : public MetaTest {
 protected:
  Code mv(Ino from, const std::string& name, Ino to, const std::string& newName, uint32_t flags = 0) {
    return meta_->rename(root, from, name, to, newName, flags).code();
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, RenameTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

TEST_P(RenameTest, MovesFilesAndDirectories) {
  auto a = mkdir(1, "a"), b = mkdir(1, "b");
  auto f = mk(a, "f"), d = mkdir(a, "d");
  put(f, 0, 5000);
  auto r = meta_->rename(root, a, "f", b, "g", 0);
  AQ_ASSERT_OK(r);
  EXPECT_EQ(r->moved.ino, f);
  EXPECT_EQ(r->moved.attr.parent, b);
  EXPECT_EQ(r->replaced, 0u);
  EXPECT_EQ(inoOf(b, "g"), f);
  EXPECT_EQ(inoOf(a, "f"), 0u);
  EXPECT_EQ(attrOf(f).parent, b);
  EXPECT_EQ(mv(a, "d", b, "d"), Code::ok);
  EXPECT_EQ(attrOf(d).parent, b);
  EXPECT_EQ(attrOf(a).nlink, 2u);
  EXPECT_EQ(attrOf(b).nlink, 3u);
  EXPECT_EQ(mv(b, "g", b, "h"), Code::ok);
  EXPECT_EQ(inoOf(b, "h"), f);
  EXPECT_EQ(raw<DirStat>(key::dirStat(b)), (DirStat{5000, 8192 + 4096, 2}));
  EXPECT_EQ(raw<DirStat>(key::dirStat(a)), (DirStat{0, 0, 0}));
}

TEST_P(RenameTest, ErrorTable) {
  auto d = mkdir(1, "d"), in = mkdir(d, "in"), full = mkdir(1, "full");
  mkdir(full, "x");
  mkdir(1, "empty");
  auto f = mk(1, "f"), g = mk(1, "g");
  AQ_ASSERT_OK(meta_->link(root, f, 1, "h"));
  EXPECT_EQ(mv(1, "d", in, "z"), Code::invalid);
  EXPECT_EQ(mv(1, "d", d, "z"), Code::invalid);
  EXPECT_EQ(mv(1, "d", 1, "full"), Code::notEmpty);
  EXPECT_EQ(mv(1, "f", 1, "empty"), Code::isDirectory);
  EXPECT_EQ(mv(1, "d", 1, "f"), Code::notDirectory);
  EXPECT_EQ(mv(1, "none", 1, "q"), Code::notFound);
  EXPECT_EQ(mv(1, "f", 999'999, "q"), Code::notFound);
  EXPECT_EQ(mv(1, "f", g, "q"), Code::notDirectory);
  EXPECT_EQ(mv(d, "in", 1, "d"), Code::notEmpty);
  EXPECT_EQ(mv(1, "f", 1, "h"), Code::ok);
  EXPECT_EQ(inoOf(1, "f"), f);
  EXPECT_EQ(inoOf(1, "h"), f);
  EXPECT_EQ(mv(1, "f", 1, "f"), Code::ok);
  EXPECT_EQ(mv(1, "f", 1, "g", kRenameNoReplace), Code::exists);
  EXPECT_EQ(mv(1, "f", 1, "q", kRenameExchange), Code::notFound);
  EXPECT_EQ(mv(1, "f", 1, "q", kRenameWhiteout), Code::unsupported);
  EXPECT_EQ(mv(1, "f", 1, "q", kRenameWhiteout | kRenameNoReplace), Code::unsupported);
  EXPECT_EQ(mv(1, "f", 1, "q", kRenameExchange | kRenameNoReplace), Code::invalid);
  EXPECT_EQ(mv(1, "f", 1, "q", 64), Code::invalid);
  EXPECT_EQ(mv(1, "f", 1, ".trash"), Code::notPermitted);
  EXPECT_EQ(mv(1, "f", kTrashIno, "q"), Code::notPermitted);
  EXPECT_EQ(mv(1, "d", 1, "empty"), Code::ok);
  EXPECT_EQ(mv(1, "g", 1, "f"), Code::ok);
  EXPECT_EQ(inoOf(1, "f"), g);
  EXPECT_EQ(attrOf(f).nlink, 1u);
}

TEST_P(RenameTest, ReplacesAndFreesTheTarget) {
  auto a = mkdir(1, "a");
  auto f = mk(1, "f"), g = mk(a, "g");
  put(g, 0, 100'000);
  auto r = meta_->rename(root, 1, "f", a, "g", 0);
  AQ_ASSERT_OK(r);
  EXPECT_EQ(r->replaced, g);
  EXPECT_EQ(inoOf(a, "g"), f);
  EXPECT_EQ(meta_->getattr(root, g).code(), Code::notFound);
  EXPECT_EQ(usedInodes(), 2);
  EXPECT_EQ(usedSpace(), 8192);
  auto d = mkdir(1, "d");
  auto e = mkdir(a, "e");
  EXPECT_EQ(mv(1, "d", a, "e"), Code::ok);
  EXPECT_EQ(attrOf(a).nlink, 3u);
  EXPECT_EQ(attrOf(1).nlink, 3u);
  EXPECT_EQ(inoOf(a, "e"), d);
  EXPECT_EQ(meta_->getattr(root, e).code(), Code::notFound);
}

TEST_P(RenameTest, ExchangeSwapsAnything) {
  auto a = mkdir(1, "a"), b = mkdir(1, "b");
  auto f = mk(a, "f"), d = mkdir(b, "d"), below = mkdir(d, "below");
  put(f, 0, 9000);
  auto r = meta_->rename(root, a, "f", b, "d", kRenameExchange);
  AQ_ASSERT_OK(r);
  EXPECT_EQ(r->replaced, d);
  EXPECT_EQ(inoOf(a, "f"), d);
  EXPECT_EQ(inoOf(b, "d"), f);
  EXPECT_EQ(attrOf(d).parent, a);
  EXPECT_EQ(attrOf(f).parent, b);
  EXPECT_EQ(attrOf(a).nlink, 3u);
  EXPECT_EQ(attrOf(b).nlink, 2u);
  audit();
  EXPECT_EQ(mv(1, "a", below, "x", kRenameExchange), Code::invalid);
  mk(below, "x");
  EXPECT_EQ(mv(1, "a", below, "x", kRenameExchange), Code::invalid);
  EXPECT_EQ(mv(below, "x", 1, "a", kRenameExchange), Code::invalid);  // the other way round is the same loop
  AQ_ASSERT_OK(meta_->link(root, f, a, "hard"));
  EXPECT_EQ(mv(b, "d", a, "hard", kRenameExchange), Code::ok);
  EXPECT_EQ(inoOf(b, "d"), f);
}

TEST_P(RenameTest, HardLinkedFilesKeepTheirParents) {
  auto a = mkdir(1, "a"), b = mkdir(1, "b");
  auto f = mk(a, "f");
  AQ_ASSERT_OK(meta_->link(root, f, a, "g"));
  EXPECT_EQ(mv(a, "f", b, "f"), Code::ok);
  EXPECT_EQ(attrOf(f).parent, 0u);
  EXPECT_EQ(raw<int64_t>(key::parentCount(f, a)), 1);
  EXPECT_EQ(raw<int64_t>(key::parentCount(f, b)), 1);
}

TEST_P(RenameTest, StickyAndFlags) {
  auto d = mkdir(1, "d", 01777), e = mkdir(1, "e", 0777);
  auto f = mk(d, "f");
  EXPECT_EQ(meta_->rename(user(5), d, "f", e, "f", 0).code(), Code::accessDenied);
  auto own = meta_->mknod(user(5), d, "own", FileType::regular, 0644, 0, 0);
  AQ_ASSERT_OK(own);
  EXPECT_EQ(meta_->rename(user(5), d, "own", d, "f", 0).code(), Code::accessDenied);
  EXPECT_EQ(meta_->rename(user(5), d, "own", e, "own", 0).code(), Code::ok);
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetFlags, .flags = kFlagAppend}));
  EXPECT_EQ(mv(d, "f", e, "f"), Code::notPermitted);
  EXPECT_EQ(mv(e, "own", d, "f"), Code::notPermitted);
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetFlags, .flags = 0}));
  AQ_ASSERT_OK(meta_->setattr(root, e, {.mask = kSetFlags, .flags = kFlagImmutable}));
  EXPECT_EQ(mv(d, "f", e, "f"), Code::notPermitted);
  AQ_ASSERT_OK(meta_->setattr(root, e, {.mask = kSetFlags, .flags = 0}));
}

}  // namespace aquifer::meta
