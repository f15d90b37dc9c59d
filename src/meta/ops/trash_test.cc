// The trash: what goes there, what the outside sees of it, and the way back.
#include <fcntl.h>

#include "base/clock.h"
#include "meta/ops/testing.h"

namespace aquifer::meta {

class TrashTest : public MetaTest {
 protected:
  void tweak(Format& f) override { f.trashDays = 1; }
  // The hour directory that holds an entry of this name; 0 if none does.
  Ino trashOf(const std::string& name) {
    auto hours = meta_->readdir(root, kTrashIno, "", 100, false);
    EXPECT_TRUE(hours.isOk());
    for (auto& hour : *hours)
      if (inoOf(hour.dentry.ino, name) != 0) return hour.dentry.ino;
    return 0;
  }
  static std::string nameOf(Ino parent, Ino ino, const std::string& name) {
    return std::to_string(parent) + "-" + std::to_string(ino) + "-" + name;
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, TrashTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

TEST_P(TrashTest, UnlinkMovesTheFileThere) {
  auto d = mkdir(1, "d");
  auto f = mk(d, "f");
  put(f, 0, 5000);
  auto inodes = usedInodes();
  auto u = meta_->unlink(root, d, "f");
  AQ_ASSERT_OK(u);
  EXPECT_EQ(u->attr.nlink, 0u);
  auto hour = trashOf(nameOf(d, f, "f"));
  ASSERT_GT(hour, kTrashIno);
  auto stored = raw<Attr>(key::node(f));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->nlink, 1u);  // as every client of the volume expects it
  EXPECT_EQ(stored->parent, hour);
  EXPECT_EQ(usedInodes(), inodes + 1);  // the hour directory
  EXPECT_EQ(raw<DirStat>(key::dirStat(hour)), (DirStat{5000, 8192, 1}));
  EXPECT_EQ(raw<DirStat>(key::dirStat(d)), DirStat{});
  auto sub = raw<Attr>(key::node(hour));
  EXPECT_EQ(sub->mode, 0555);
  EXPECT_EQ(sub->parent, kTrashIno);
  EXPECT_EQ(sub->nlink, 2u);
  auto found = meta_->lookup(root, 1, ".trash");
  AQ_ASSERT_OK(found);
  EXPECT_EQ(found->ino, kTrashIno);
  EXPECT_EQ(found->attr.mode, 0555);
}

TEST_P(TrashTest, NamesAreCutByBytes) {
  std::string longName(255, 'n');
  auto f = mk(1, longName);
  AQ_ASSERT_OK(meta_->unlink(root, 1, longName));
  EXPECT_NE(trashOf(nameOf(1, f, longName).substr(0, 255)), 0u);
}

TEST_P(TrashTest, ShownLinksLeaveOutTheTrash) {
  auto f = mk(1, "a");
  AQ_ASSERT_OK(meta_->link(root, f, 1, "b"));
  AQ_ASSERT_OK(meta_->link(root, f, 1, "c"));
  auto u = meta_->unlink(root, 1, "b");
  AQ_ASSERT_OK(u);
  EXPECT_EQ(u->attr.nlink, 2u);
  EXPECT_EQ(attrOf(f).nlink, 2u);
  EXPECT_EQ(raw<Attr>(key::node(f))->nlink, 3u);
  auto entries = meta_->readdir(root, 1, "", 10, true);
  AQ_ASSERT_OK(entries);
  EXPECT_EQ(entries->at(0).attr->nlink, 2u);
  EXPECT_EQ(meta_->lookup(root, 1, "a")->attr.nlink, 2u);
  EXPECT_EQ(meta_->setattr(root, f, {.mask = kSetMode, .mode = 0600})->nlink, 2u);
  AQ_ASSERT_OK(meta_->unlink(root, 1, "a"));
  AQ_ASSERT_OK(meta_->unlink(root, 1, "c"));
  EXPECT_EQ(raw<Attr>(key::node(f))->nlink, 3u);
  EXPECT_EQ(attrOf(f).nlink, 1u);  // findable in the trash
  AQ_ASSERT_OK(meta_->open(root, f, O_RDONLY));
  EXPECT_EQ(attrOf(f).nlink, 0u);  // an open handle of a file without a name
  AQ_ASSERT_OK(meta_->close(f));
}

TEST_P(TrashTest, LinkingAgainAfterRemovalCountsRight) {
  for (int round = 0; round < 3; round++) {
    auto a = mk(1, "a"), b = mk(1, "b");
    AQ_ASSERT_OK(meta_->link(root, a, 1, "l"));
    AQ_ASSERT_OK(meta_->unlink(root, 1, "l"));
    AQ_ASSERT_OK(meta_->link(root, a, 1, "l"));
    AQ_ASSERT_OK(meta_->rename(root, 1, "b", 1, "l", 0));
    EXPECT_EQ(inoOf(1, "l"), b);
    EXPECT_EQ(attrOf(a).nlink, 1u);
    audit();
    AQ_ASSERT_OK(meta_->unlink(root, 1, "a"));
    AQ_ASSERT_OK(meta_->unlink(root, 1, "l"));
  }
}

TEST_P(TrashTest, TheSecondLinkWithOneTrashNameGoesForReal) {
  std::string x(255, 'x'), y = std::string(254, 'x') + "y";  // equal once cut
  auto f = mk(1, x);
  AQ_ASSERT_OK(meta_->link(root, f, 1, y));
  AQ_ASSERT_OK(meta_->link(root, f, 1, "keep"));
  AQ_ASSERT_OK(meta_->unlink(root, 1, x));
  AQ_ASSERT_OK(meta_->unlink(root, 1, y));
  EXPECT_EQ(raw<Attr>(key::node(f))->nlink, 2u);
  EXPECT_EQ(attrOf(f).nlink, 1u);
}

TEST_P(TrashTest, RulesInside) {
  auto f = mk(1, "f");
  auto d = mkdir(1, "d");
  AQ_ASSERT_OK(meta_->unlink(root, 1, "f"));
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "d"));
  auto name = nameOf(1, f, "f");
  auto hour = trashOf(name);
  ASSERT_NE(hour, 0u);
  auto plain = user(5);
  plain.checkPermission = false;
  EXPECT_EQ(meta_->unlink(plain, hour, name).code(), Code::notPermitted);
  EXPECT_EQ(meta_->rmdir(plain, hour, nameOf(1, d, "d")).code(), Code::notPermitted);
  EXPECT_EQ(meta_->rename(plain, hour, name, 1, "f", 0).code(), Code::notPermitted);
  EXPECT_EQ(meta_->mknod(root, hour, "x", FileType::regular, 0644, 0, 0).code(), Code::notPermitted);
  EXPECT_EQ(meta_->link(root, f, hour, "x").code(), Code::notPermitted);
  EXPECT_EQ(meta_->open(root, f, O_WRONLY).code(), Code::notPermitted);
  EXPECT_EQ(meta_->truncate(root, f, 0, false).code(), Code::notPermitted);
  EXPECT_EQ(meta_->setattr(root, f, {.mask = kSetMode, .mode = 0}).code(), Code::notPermitted);
  EXPECT_EQ(meta_->mknod(root, d, "x", FileType::regular, 0644, 0, 0).code(), Code::notFound);
  auto hourName = meta_->readdir(root, kTrashIno, "", 1, false)->at(0).name;
  EXPECT_EQ(meta_->rmdir(root, kTrashIno, hourName).code(), Code::notPermitted);
  EXPECT_EQ(meta_->rmdir(root, 1, ".trash").code(), Code::notPermitted);
  EXPECT_EQ(meta_->rename(root, 1, ".trash", 1, "t", 0).code(), Code::notPermitted);
  AQ_EXPECT_OK(meta_->setxattr(root, f, "user.a", "1", 0));
  AQ_EXPECT_OK(meta_->open(root, f, O_RDONLY));
  AQ_EXPECT_OK(meta_->setattr(root, f, {.mask = kSetMode, .mode = 0600}));  // open here: fchmod works
  AQ_EXPECT_OK(meta_->close(f));
  auto linked = meta_->link(root, f, 1, "back");
  AQ_ASSERT_OK(linked);
  EXPECT_EQ(linked->attr.nlink, 1u);
  AQ_EXPECT_OK(meta_->unlink(root, hour, name));
  EXPECT_EQ(inoOf(1, "back"), f);
  EXPECT_EQ(raw<Attr>(key::node(f))->nlink, 1u);
}

TEST_P(TrashTest, DeletingInTheTrashIsForGood) {
  auto f = mk(1, "f");
  auto d = mkdir(1, "d");
  AQ_ASSERT_OK(meta_->unlink(root, 1, "f"));
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "d"));
  auto hour = trashOf(nameOf(1, f, "f"));
  AQ_ASSERT_OK(meta_->unlink(root, hour, nameOf(1, f, "f")));
  AQ_ASSERT_OK(meta_->rmdir(root, hour, nameOf(1, d, "d")));
  EXPECT_EQ(meta_->getattr(root, f).code(), Code::notFound);
  EXPECT_EQ(meta_->getattr(root, d).code(), Code::notFound);
  EXPECT_EQ(raw<Attr>(key::node(hour))->nlink, 2u);
}

TEST_P(TrashTest, AnOpenDirectoryStillAnswersFromTheTrash) {
  auto d = mkdir(1, "d");
  AQ_ASSERT_OK(meta_->open(root, d, O_RDONLY));
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "d"));
  EXPECT_EQ(attrOf(d).nlink, 0u);
  AQ_EXPECT_OK(meta_->setattr(root, d, {.mask = kSetMode, .mode = 0700}));
  EXPECT_EQ(attrOf(d).mode, 0700);
  EXPECT_EQ(meta_->mknod(root, d, "x", FileType::regular, 0644, 0, 0).code(), Code::notFound);
  EXPECT_FALSE(raw<DirStat>(key::dirStat(d)));
  AQ_EXPECT_OK(meta_->close(d));
}

TEST_P(TrashTest, RenameOverATargetTrashesIt) {
  auto f = mk(1, "f"), g = mk(1, "g");
  AQ_ASSERT_OK(meta_->open(root, g, O_RDWR));
  AQ_ASSERT_OK(meta_->rename(root, 1, "f", 1, "g", 0));
  EXPECT_EQ(inoOf(1, "g"), f);
  EXPECT_NE(trashOf(nameOf(1, g, "g")), 0u);
  EXPECT_EQ(attrOf(g).nlink, 0u);
  put(g, 0, 100);  // writes through the old handle still work
  AQ_EXPECT_OK(meta_->close(g));
  EXPECT_EQ(raw<Attr>(key::node(g))->length, 100u);
}

TEST_P(TrashTest, RestorePutsBack) {
  auto d = mkdir(1, "d");
  auto f = mk(d, "f");
  put(f, 0, 5000);
  AQ_ASSERT_OK(meta_->unlink(root, d, "f"));
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "d"));
  auto fileName = nameOf(d, f, "f"), dirName = nameOf(1, d, "d");
  auto hour = trashOf(fileName);
  constexpr uint32_t kRestore = kRenameNoReplace | kRenameRestore;
  EXPECT_EQ(meta_->rename(root, hour, fileName, d, "f", 0).code(), Code::notFound);
  AQ_ASSERT_OK(meta_->rename(root, hour, fileName, d, "f", kRestore));  // back into its directory, within the trash
  EXPECT_EQ(attrOf(f).parent, d);
  AQ_ASSERT_OK(meta_->rename(root, hour, dirName, 1, "d", kRestore));
  EXPECT_EQ(attrOf(d).parent, 1u);
  EXPECT_EQ(attrOf(1).nlink, 3u);
  EXPECT_EQ(inoOf(d, "f"), f);
  EXPECT_EQ(attrOf(f).nlink, 1u);
  auto e = mkdir(1, "e");
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "e"));
  AQ_ASSERT_OK(meta_->rename(root, hour, nameOf(1, e, "e"), 1, "e", kRestore));
  EXPECT_EQ(raw<DirStat>(key::dirStat(e)), DirStat{});
  mkdir(1, "taken");
  auto t = mkdir(e, "t");
  AQ_ASSERT_OK(meta_->rmdir(root, e, "t"));
  EXPECT_EQ(meta_->rename(root, trashOf(nameOf(e, t, "t")), nameOf(e, t, "t"), 1, "taken", kRestore).code(), Code::exists);
}

TEST_P(TrashTest, SkippingIt) {
  auto f = mk(1, "f");
  AQ_ASSERT_OK(meta_->unlink(root, 1, "f", true));
  EXPECT_EQ(meta_->getattr(root, f).code(), Code::notFound);
  auto d = mkdir(1, "d");
  AQ_ASSERT_OK(meta_->setattr(root, d, {.mask = kSetFlags, .flags = kFlagSkipTrash}));
  auto g = mk(d, "g");
  EXPECT_EQ(attrOf(g).flags, kFlagSkipTrash);
  AQ_ASSERT_OK(meta_->unlink(root, d, "g"));
  EXPECT_EQ(meta_->getattr(root, g).code(), Code::notFound);
  AQ_ASSERT_OK(meta_->rmdir(root, 1, "d"));
  EXPECT_EQ(meta_->getattr(root, d).code(), Code::notFound);
}

}  // namespace aquifer::meta
