// Names: create, lookup, unlink, rmdir, link, readdir.
#include <fcntl.h>

#include "meta/ops/testing.h"

namespace aquifer::meta {

using NamesTest = MetaTest;
INSTANTIATE_TEST_SUITE_P(Stores, NamesTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

TEST_P(NamesTest, CreateSetsEveryAttribute) {
  Context ctx = user(7, 8);
  ctx.checkPermission = false;
  auto e = meta_->mknod(ctx, 1, "f", FileType::regular, 0666, 022, 0);
  AQ_ASSERT_OK(e);
  auto a = attrOf(e->ino);
  EXPECT_EQ(a.mode, 0644);
  EXPECT_EQ(a.uid, 7u);
  EXPECT_EQ(a.gid, 8u);
  EXPECT_EQ(a.nlink, 1u);
  EXPECT_EQ(a.length, 0u);
  EXPECT_EQ(a.parent, 1u);
  EXPECT_EQ(a, e->attr);
  auto dev = meta_->mknod(ctx, 1, "dev", FileType::charDevice, 0600, 0, 259);
  AQ_ASSERT_OK(dev);
  EXPECT_EQ(attrOf(dev->ino).rdev, 259u);
  auto link = mk(1, "l", FileType::symlink);
  EXPECT_EQ(attrOf(link).length, 6u);
  EXPECT_EQ(attrOf(link).mode, 0777);
  auto target = meta_->readlink(root, link);
  AQ_ASSERT_OK(target);
  EXPECT_EQ(*target, "target");
  EXPECT_EQ(meta_->readlink(root, e->ino).code(), Code::invalid);
  auto d = mkdir(1, "d");
  EXPECT_EQ(attrOf(d).nlink, 2u);
  EXPECT_EQ(attrOf(d).length, 4096u);
  EXPECT_EQ(attrOf(1).nlink, 3u);
}

TEST_P(NamesTest, CreateRefusals) {
  auto f = mk(1, "f");
  auto d = mkdir(1, "d");
  auto make = [&](Ino parent, std::string_view name, FileType type = FileType::regular, std::string_view target = {}) {
    return meta_->mknod(root, parent, name, type, 0644, 0, 0, target).code();
  };
  Entry existing;
  EXPECT_EQ(meta_->mknod(root, 1, "f", FileType::regular, 0644, 0, 0, {}, &existing).code(), Code::exists);
  EXPECT_EQ(existing.ino, f);
  EXPECT_EQ(existing.attr, attrOf(f));
  EXPECT_EQ(make(f, "x"), Code::notDirectory);
  EXPECT_EQ(make(999'999, "x"), Code::notFound);
  EXPECT_EQ(make(1, ""), Code::invalid);
  EXPECT_EQ(make(1, "a/b"), Code::invalid);
  EXPECT_EQ(make(1, std::string_view("a\0b", 3)), Code::invalid);
  EXPECT_EQ(make(1, "."), Code::exists);
  EXPECT_EQ(make(1, ".."), Code::exists);
  EXPECT_EQ(make(1, std::string(256, 'x')), Code::nameTooLong);
  EXPECT_EQ(make(1, std::string(255, 'x')), Code::ok);
  EXPECT_EQ(make(1, ".trash"), Code::notPermitted);
  EXPECT_EQ(make(kTrashIno, "x"), Code::notPermitted);
  EXPECT_EQ(make(d, ".trash"), Code::ok);
  EXPECT_EQ(make(1, "t", FileType::none), Code::invalid);
  EXPECT_EQ(make(1, "t", FileType::symlink, ""), Code::invalid);
  EXPECT_EQ(make(1, "t", FileType::symlink, std::string(4097, 'x')), Code::invalid);
  EXPECT_EQ(make(1, "t", FileType::symlink, std::string(4096, 'x')), Code::ok);
}

TEST_P(NamesTest, CreateNeedsWriteAndSearchPermission) {
  auto d = mkdir(1, "d", 0750);
  EXPECT_EQ(meta_->mknod(user(5), d, "x", FileType::regular, 0644, 0, 0).code(), Code::accessDenied);
  EXPECT_EQ(meta_->lookup(user(5), d, "x").code(), Code::accessDenied);
  auto unchecked = user(5);
  unchecked.checkPermission = false;
  AQ_EXPECT_OK(meta_->mknod(unchecked, d, "x", FileType::regular, 0644, 0, 0));
}

TEST_P(NamesTest, GroupComesFromASetGidDirectory) {
  auto d = mkdir(1, "d", 02777);
  AQ_ASSERT_OK(meta_->setattr(root, d, {.mask = kSetGid, .gid = 77}));
  auto f = meta_->mknod(user(5, 6), d, "f", FileType::regular, 02775, 0, 0);
  AQ_ASSERT_OK(f);
  EXPECT_EQ(f->attr.gid, 77u);
  EXPECT_EQ(f->attr.mode, 0775);  // a stranger to the group does not get to make set-gid programs of it
  auto sub = meta_->mknod(user(5, 6), d, "s", FileType::directory, 0755, 0, 0);
  AQ_ASSERT_OK(sub);
  EXPECT_EQ(sub->attr.gid, 77u);
  EXPECT_EQ(sub->attr.mode, 02755);
}

TEST_P(NamesTest, LookupAndDots) {
  auto d = mkdir(1, "d");
  auto e = mkdir(d, "e");
  EXPECT_EQ(inoOf(d, "e"), e);
  EXPECT_EQ(inoOf(e, ".."), d);
  EXPECT_EQ(inoOf(e, "."), e);
  EXPECT_EQ(inoOf(1, ".."), 1u);
  EXPECT_EQ(meta_->lookup(root, d, "none").code(), Code::notFound);
  EXPECT_EQ(meta_->lookup(root, d, std::string(256, 'x')).code(), Code::nameTooLong);
  auto r = meta_->resolve(root, "/d//e/");
  AQ_ASSERT_OK(r);
  EXPECT_EQ(r->ino, e);
  mk(d, "f");
  EXPECT_EQ(meta_->resolve(root, "/d/f/x").code(), Code::notDirectory);
}

TEST_P(NamesTest, UnlinkTakesTheNodeAway) {
  auto f = mk(1, "f");
  AQ_ASSERT_OK(meta_->setxattr(root, f, "user.a", "b", 0));
  EXPECT_EQ(usedInodes(), 1);
  auto gone = meta_->unlink(root, 1, "f");
  AQ_ASSERT_OK(gone);
  EXPECT_EQ(gone->ino, f);
  EXPECT_EQ(gone->attr.nlink, 0u);
  EXPECT_EQ(meta_->getattr(root, f).code(), Code::notFound);
  EXPECT_EQ(usedInodes(), 0);
  EXPECT_EQ(usedSpace(), 0);
  EXPECT_EQ(count(Kind::xattr), 0u);
  EXPECT_EQ(meta_->unlink(root, 1, "f").code(), Code::notFound);
  auto l = mk(1, "l", FileType::symlink);
  AQ_ASSERT_OK(meta_->unlink(root, 1, "l"));
  EXPECT_FALSE(raw<std::string>(key::symlink(l)));
}

TEST_P(NamesTest, UnlinkAndRmdirRefusals) {
  auto d = mkdir(1, "d", 01777);
  auto f = mk(d, "f");
  EXPECT_EQ(meta_->unlink(root, 1, "d").code(), Code::notPermitted);
  EXPECT_EQ(meta_->rmdir(root, 1, "d").code(), Code::notEmpty);
  EXPECT_EQ(meta_->rmdir(root, d, "f").code(), Code::notDirectory);
  EXPECT_EQ(meta_->rmdir(root, 1, "none").code(), Code::notFound);
  EXPECT_EQ(meta_->rmdir(root, d, ".").code(), Code::invalid);
  EXPECT_EQ(meta_->rmdir(root, d, "..").code(), Code::notEmpty);
  EXPECT_EQ(meta_->unlink(user(5), d, "f").code(), Code::accessDenied);  // sticky
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetFlags, .flags = kFlagImmutable}));
  EXPECT_EQ(meta_->unlink(root, d, "f").code(), Code::notPermitted);
  AQ_ASSERT_OK(meta_->setattr(root, f, {.mask = kSetFlags, .flags = 0}));
  AQ_ASSERT_OK(meta_->setattr(root, d, {.mask = kSetFlags, .flags = kFlagAppend}));
  EXPECT_EQ(meta_->unlink(root, d, "f").code(), Code::notPermitted);
  AQ_EXPECT_OK(meta_->mknod(root, d, "g", FileType::regular, 0644, 0, 0));
  AQ_ASSERT_OK(meta_->setattr(root, d, {.mask = kSetFlags, .flags = kFlagImmutable}));
  EXPECT_EQ(meta_->mknod(root, d, "h", FileType::regular, 0644, 0, 0).code(), Code::notPermitted);
  AQ_ASSERT_OK(meta_->setattr(root, d, {.mask = kSetFlags, .flags = 0}));
  AQ_EXPECT_OK(meta_->unlink(root, d, "f"));
  AQ_EXPECT_OK(meta_->unlink(root, d, "g"));
  AQ_EXPECT_OK(meta_->rmdir(root, 1, "d"));
  EXPECT_EQ(attrOf(1).nlink, 2u);
  EXPECT_FALSE(raw<DirStat>(key::dirStat(d)));
}

TEST_P(NamesTest, HardLinksCount) {
  auto d = mkdir(1, "d");
  auto f = mk(1, "f");
  put(f, 0, 10'000);
  auto l = meta_->link(root, f, d, "l");
  AQ_ASSERT_OK(l);
  EXPECT_EQ(l->attr.nlink, 2u);
  EXPECT_EQ(attrOf(f).parent, 0u);
  EXPECT_EQ(raw<int64_t>(key::parentCount(f, 1)), 1);
  EXPECT_EQ(raw<int64_t>(key::parentCount(f, d)), 1);
  EXPECT_EQ(meta_->link(root, f, d, "l").code(), Code::exists);
  EXPECT_EQ(meta_->link(root, d, 1, "dl").code(), Code::notPermitted);
  EXPECT_EQ(usedInodes(), 2);
  put(f, 20'000, 5);  // both directories learn of the new length
  EXPECT_EQ(raw<DirStat>(key::dirStat(d))->length, 20'005);
  EXPECT_EQ(raw<DirStat>(key::dirStat(1))->length, 20'005);
  auto u = meta_->unlink(root, 1, "f");
  AQ_ASSERT_OK(u);
  EXPECT_EQ(u->attr.nlink, 1u);
  EXPECT_EQ(attrOf(f).nlink, 1u);
  EXPECT_EQ(attrOf(f).parent, 0u);
  AQ_ASSERT_OK(meta_->link(root, f, d, "m"));
  audit();
  AQ_ASSERT_OK(meta_->unlink(root, d, "l"));
  AQ_ASSERT_OK(meta_->unlink(root, d, "m"));
  EXPECT_EQ(meta_->getattr(root, f).code(), Code::notFound);
}

TEST_P(NamesTest, ReaddirPagesInByteOrder) {
  auto d = mkdir(1, "d");
  for (auto name : {"b", "a", "\xff", "c", "B"}) mk(d, name);
  std::vector<std::string> seen;
  std::string after;
  for (;;) {
    auto page = meta_->readdir(root, d, after, 2, true);
    AQ_ASSERT_OK(page);
    if (page->empty()) break;
    for (auto& e : *page) {
      seen.push_back(e.name);
      ASSERT_TRUE(e.attr);
      EXPECT_TRUE(e.attr->isRegular());
    }
    after = page->back().name;
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"B", "a", "b", "c", "\xff"}));
  EXPECT_EQ(meta_->readdir(root, inoOf(d, "a"), "", 10, false).code(), Code::notDirectory);
  EXPECT_EQ(meta_->readdir(root, 999'999, "", 10, false).code(), Code::notFound);
}

TEST_P(NamesTest, ParentTimesFollowChanges) {
  auto d = mkdir(1, "d");
  AQ_ASSERT_OK(meta_->setattr(root, d, {.mask = kSetMtime, .mtime = {100, 0}}));
  mk(d, "f");
  EXPECT_GT(attrOf(d).mtime.sec, 1'000'000);
  AQ_ASSERT_OK(meta_->setattr(root, d, {.mask = kSetMtime, .mtime = {100, 0}}));
  AQ_ASSERT_OK(meta_->unlink(root, d, "f"));
  EXPECT_GT(attrOf(d).mtime.sec, 1'000'000);
  EXPECT_EQ(attrOf(d).mtime, attrOf(d).ctime);
}

TEST_P(NamesTest, OpenDirectoryOutlivesItsRemoval) {
  auto d = mkdir(1, "d");
  AQ_ASSERT_OK(meta_->open(root, d, O_RDONLY));
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "d"));
  EXPECT_EQ(attrOf(d).nlink, 0u);
  auto a = meta_->setattr(root, d, {.mask = kSetMode | kSetMtime, .mode = 0700, .mtime = {5, 6}});
  AQ_ASSERT_OK(a);
  EXPECT_EQ(attrOf(d).mode, 0700);
  EXPECT_EQ(attrOf(d).mtime, (Time{5, 6}));
  EXPECT_EQ(meta_->mknod(root, d, "x", FileType::regular, 0644, 0, 0).code(), Code::notFound);
  auto list = meta_->readdir(root, d, "", 10, true);
  AQ_ASSERT_OK(list);
  EXPECT_TRUE(list->empty());
  AQ_ASSERT_OK(meta_->close(d));
  EXPECT_EQ(meta_->getattr(root, d).code(), Code::notFound);
}

TEST_P(NamesTest, IntentNamesTheInodeBeforeTheCommit) {
  auto f = mk(1, "f");
  Ino told = 0;
  auto ctx = root;
  ctx.intent = [&](uint64_t ino) { told = ino; };
  AQ_ASSERT_OK(meta_->rename(ctx, 1, "f", 1, "g", 0));
  EXPECT_EQ(told, f);
  told = 0;
  EXPECT_EQ(meta_->unlink(ctx, 1, "f").code(), Code::notFound);
  EXPECT_EQ(told, 0u);
  AQ_ASSERT_OK(meta_->unlink(ctx, 1, "g"));
  EXPECT_EQ(told, f);
  auto d = mkdir(1, "d");
  AQ_ASSERT_OK(meta_->rmdir(ctx, 1, "d"));
  EXPECT_EQ(told, d);
}

}  // namespace aquifer::meta
