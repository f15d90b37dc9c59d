// Names and attributes through the Vfs.
#include <sys/stat.h>

#include "base/clock.h"
#include "vfs/special.h"
#include "vfs/test_support.h"

namespace aquifer::vfs {
namespace {

using meta::SetAttr;
using testing::Fs;
using testing::Volume;

struct NamesTest : ::testing::Test {
  Volume volume_;
  std::unique_ptr<testing::Client> client_ = volume_.mount();
  Fs fs_{*client_->vfs};
};

TEST_F(NamesTest, VirtualNamesAnswerButAreNotListedOrTouched) {
  EXPECT_TRUE(fs_.list(1).empty());
  EXPECT_EQ(fs_.find(1, ".stats"), kStatsIno);
  EXPECT_EQ(fs_.find(1, ".accesslog"), kLogIno);
  EXPECT_EQ(fs_.find(1, ".config"), kConfigIno);
  EXPECT_EQ(fs_.find(1, ".trash"), meta::kTrashIno);
  EXPECT_EQ(fs_.attr(meta::kTrashIno).attr.mode, 0555);   // also on a volume without one
  EXPECT_TRUE(fs_.list(meta::kTrashIno).empty());
  Ino d = fs_.mkdir(1, "d");
  EXPECT_EQ(fs_.find(d, ".control"), kControlIno);
  EXPECT_EQ(fs_.vfs.lookup(fs_.ctx, d, ".stats").code(), Code::notFound);
  EXPECT_EQ(fs_.vfs.lookup(fs_.ctx, d, ".trash").code(), Code::notFound);
  fs_.put(1, "f", "x");
  for (std::string name : {".stats", ".control", ".trash", ".config"}) {
    EXPECT_EQ(fs_.vfs.unlink(fs_.ctx, 1, name).code(), Code::notPermitted) << name;
    EXPECT_EQ(fs_.vfs.mkdir(fs_.ctx, 1, name, 0755, 0, 0).code(), Code::exists) << name;
    EXPECT_EQ(fs_.vfs.create(fs_.ctx, 1, name, 0644, 0, O_RDWR, 0).code(), Code::exists) << name;
    EXPECT_EQ(fs_.vfs.rename(fs_.ctx, 1, name, 1, "q", 0).code(), Code::notPermitted) << name;
    EXPECT_EQ(fs_.vfs.rename(fs_.ctx, 1, "f", 1, name, 0).code(), Code::notPermitted) << name;
    EXPECT_EQ(fs_.vfs.link(fs_.ctx, fs_.find(1, "f"), 1, name).code(), Code::exists) << name;
  }
  SetAttr set;
  set.mask = meta::kSetMode;
  set.mode = 0777;
  auto r = fs_.vfs.setattr(fs_.ctx, kStatsIno, 0, false, set, 0);
  ASSERT_TRUE(r.isOk());
  EXPECT_EQ(r->attr.mode, 0444);
  EXPECT_EQ(r->attrTimeout, Seconds(3600));
  // In other directories the names are ordinary.
  fs_.put(d, ".stats", "mine");
  EXPECT_EQ(fs_.get(fs_.find(d, ".stats")), "mine");
}

TEST_F(NamesTest, ListedPrefixedAndSubdirForms) {
  auto config = Volume::plain();
  config.hideInternal = false;
  auto listing = volume_.mount(config);
  EXPECT_EQ(Fs(*listing->vfs).list(1), (std::vector<std::string>{".accesslog", ".stats", ".config", ".trash"}));
  EXPECT_EQ(Fs(*listing->vfs).list(1, 1), (std::vector<std::string>{".accesslog", ".stats", ".config", ".trash"}));
  config.prefixInternal = true;
  auto prefixed = volume_.mount(config);
  Fs p(*prefixed->vfs);
  EXPECT_EQ(p.find(1, ".jfs.control"), kControlIno);
  EXPECT_EQ(p.find(1, ".jfs.trash"), meta::kTrashIno);
  EXPECT_EQ(p.find(1, ".control"), 0u);
  EXPECT_EQ(p.find(1, ".trash"), 0u);
  config = Volume::plain();
  config.subdirMount = true;
  auto sub = volume_.mount(config);
  EXPECT_EQ(Fs(*sub->vfs).find(1, ".trash"), 0u);
  EXPECT_EQ(Fs(*sub->vfs).find(1, ".stats"), kStatsIno);
}

TEST_F(NamesTest, LongNamesAndTargetsAreRefused) {
  std::string longName(256, 'n');
  EXPECT_EQ(fs_.vfs.lookup(fs_.ctx, 1, longName).code(), Code::nameTooLong);
  EXPECT_EQ(fs_.vfs.mkdir(fs_.ctx, 1, longName, 0755, 0, 0).code(), Code::nameTooLong);
  EXPECT_EQ(fs_.vfs.symlink(fs_.ctx, 1, "s", std::string(4096, 't'), 0).code(), Code::nameTooLong);
  EXPECT_TRUE(fs_.vfs.symlink(fs_.ctx, 1, "s", std::string(4095, 't'), 0).isOk());
  EXPECT_TRUE(fs_.vfs.mkdir(fs_.ctx, 1, std::string(255, 'n'), 0755, 0, 0).isOk());
}

TEST_F(NamesTest, NegativeEntriesOnlyWhenConfigured) {
  EXPECT_EQ(fs_.vfs.lookup(fs_.ctx, 1, "none").code(), Code::notFound);
  auto config = Volume::plain();
  config.negativeTimeout = Seconds(2);
  auto other = volume_.mount(config);
  auto r = other->vfs->lookup(fs_.ctx, 1, "none");
  ASSERT_TRUE(r.isOk());
  EXPECT_EQ(r->ino, 0u);
  EXPECT_EQ(r->entryTimeout, Seconds(2));
}

// A directory that was removed while somebody stands in it.
TEST_F(NamesTest, RemovedDirectoryStillAnswers) {
  Ino d = fs_.mkdir(1, "d");
  auto open = fs_.vfs.opendir(fs_.ctx, d, 0);
  ASSERT_TRUE(open.isOk());
  ASSERT_TRUE(fs_.vfs.rmdir(fs_.ctx, 1, "d").isOk());
  EXPECT_EQ(fs_.attr(d).attr.nlink, 0u);
  SetAttr set;
  set.mask = meta::kSetMode | meta::kSetAtime | meta::kSetMtime;
  set.mode = 0700;
  set.atime.sec = 5;
  set.mtime.sec = 6;
  ASSERT_TRUE(fs_.vfs.setattr(fs_.ctx, d, 0, false, set, 0).isOk());
  auto a = fs_.attr(d).attr;
  EXPECT_EQ(a.mode, 0700);
  EXPECT_EQ(a.mtime.sec, 6);
  EXPECT_EQ(fs_.vfs.create(fs_.ctx, d, "n", 0600, 0, O_WRONLY, 0).code(), Code::notFound);
  ASSERT_TRUE(fs_.vfs.releasedir(fs_.ctx, d, open->fh).isOk());
  fs_.vfs.forget(d, 1);
  EXPECT_EQ(fs_.vfs.getattr(fs_.ctx, d, 0).code(), Code::notFound);
}

TEST_F(NamesTest, TimesKeepNanosecondsAndGoBeforeTheEpoch) {
  fs_.put(1, "f", "");
  Ino f = fs_.find(1, "f");
  for (int64_t sec : {0LL, 1700000000LL, 4102444800LL, -86400LL}) {
    SetAttr set;
    set.mask = meta::kSetAtime | meta::kSetMtime;
    set.atime = set.mtime = {sec, 123456789};
    ASSERT_TRUE(fs_.vfs.setattr(fs_.ctx, f, 0, false, set, 0).isOk());
    EXPECT_EQ(fs_.attr(f).attr.mtime, set.mtime);
    EXPECT_EQ(fs_.attr(f).attr.atime, set.atime);
  }
}

// cp -p, rsync: data, then times, then close.
TEST_F(NamesTest, TimeSetAfterWritesIsNotOverwrittenByTheirFlush) {
  auto f = fs_.create(1, "f");
  ASSERT_TRUE(fs_.write(f, 0, "data").isOk());
  SetAttr set;
  set.mask = meta::kSetMtime;
  set.mtime = {1000, 7};
  ASSERT_TRUE(fs_.vfs.setattr(fs_.ctx, f.ino, f.fh, true, set, 0).isOk());
  fs_.close(f);
  EXPECT_EQ(fs_.attr(f.ino).attr.mtime, set.mtime);
}

TEST_F(NamesTest, MtimeOfAnUnflushedWriteShowsAndStays) {
  auto f = fs_.create(1, "f");
  auto before = fs_.attr(f.ino).attr;
  sleepMs(5);
  ASSERT_TRUE(fs_.write(f, 0, "data").isOk());
  auto dirty = fs_.attr(f.ino).attr;
  EXPECT_GT(dirty.mtime, before.mtime);
  EXPECT_EQ(dirty.length, 4u);
  fs_.close(f);
  EXPECT_EQ(fs_.attr(f.ino).attr.mtime, dirty.mtime);   // what was shown before the flush is what is stored
}

TEST_F(NamesTest, ReplacingAHardLinkThatWasRemovedAndMadeAgain) {
  fs_.put(1, "a", "AAAA");
  Ino a = fs_.find(1, "a");
  ASSERT_TRUE(fs_.vfs.link(fs_.ctx, a, 1, "l").isOk());
  ASSERT_TRUE(fs_.vfs.unlink(fs_.ctx, 1, "l").isOk());
  fs_.put(1, "b", "BBBB");
  ASSERT_TRUE(fs_.vfs.link(fs_.ctx, a, 1, "l").isOk());
  ASSERT_TRUE(fs_.vfs.rename(fs_.ctx, 1, "b", 1, "l", 0).isOk());
  EXPECT_EQ(fs_.get(fs_.find(1, "l")), "BBBB");
  EXPECT_EQ(fs_.attr(a).attr.nlink, 1u);
}

TEST_F(NamesTest, CreateOfAnExistingNameOpensIt) {
  fs_.put(1, "f", "old");
  auto r = fs_.vfs.create(fs_.ctx, 1, "f", 0644, 0, O_RDWR, 0);
  ASSERT_TRUE(r.isOk());
  EXPECT_EQ(r->first.attr.length, 3u);
  fs_.close({r->first.ino, r->second.fh, O_RDWR});
  EXPECT_EQ(fs_.vfs.create(fs_.ctx, 1, "f", 0644, 0, O_RDWR | O_EXCL, 0).code(), Code::exists);
  auto cut = fs_.vfs.create(fs_.ctx, 1, "f", 0644, 0, O_RDWR | O_TRUNC, 0);
  ASSERT_TRUE(cut.isOk());
  EXPECT_EQ(cut->first.attr.length, 0u);
  fs_.close({cut->first.ino, cut->second.fh, O_RDWR});
  // What is not a plain file, or not the caller's, the kernel shall look up itself.
  fs_.mkdir(1, "d");
  EXPECT_EQ(fs_.vfs.create(fs_.ctx, 1, "d", 0644, 0, O_RDWR, 0).code(), Code::stale);
  Context user;
  user.uid = user.gid = 1000;
  EXPECT_EQ(fs_.vfs.create(user, 1, "f", 0644, 0, O_RDWR, 0).code(), Code::stale);
  // A new file may be opened by its maker whatever its mode.
  auto own = fs_.vfs.create(user, 1, "mine", 0000, 0, O_RDWR | O_EXCL, 0);
  ASSERT_TRUE(own.isOk());
  fs_.close({own->first.ino, own->second.fh, O_RDWR});
}

TEST_F(NamesTest, TmpfileHasNoNameUntilItIsLinked) {
  auto r = fs_.vfs.tmpfile(fs_.ctx, 1, 0600, 0, O_RDWR | O_TMPFILE);
  ASSERT_TRUE(r.isOk());
  Fs::File f{r->first.ino, r->second.fh, O_RDWR};
  EXPECT_EQ(r->first.attr.nlink, 0u);
  EXPECT_TRUE(fs_.list(1).empty());
  ASSERT_TRUE(fs_.write(f, 0, "hello").isOk());
  auto linked = fs_.vfs.link(fs_.ctx, f.ino, 1, "named");
  ASSERT_TRUE(linked.isOk()) << linked.status().text();
  EXPECT_EQ(linked->attr.nlink, 1u);
  fs_.close(f);
  EXPECT_EQ(fs_.get(fs_.find(1, "named")), "hello");
  auto gone = fs_.vfs.tmpfile(fs_.ctx, 1, 0600, 0, O_RDWR | O_TMPFILE);
  ASSERT_TRUE(gone.isOk());
  fs_.close({gone->first.ino, gone->second.fh, O_RDWR});
  EXPECT_EQ(fs_.vfs.getattr(fs_.ctx, gone->first.ino, 0).code(), Code::notFound);
}

TEST_F(NamesTest, ReadOnlyMountRefusesChanges) {
  fs_.put(1, "f", "x");
  auto config = Volume::plain();
  config.readOnly = true;
  auto metaConfig = Volume::quiet();
  metaConfig.readOnly = true;
  auto ro = volume_.mount(config, metaConfig);
  Fs r(*ro->vfs);
  EXPECT_EQ(r.vfs.create(r.ctx, 1, "g", 0644, 0, O_RDWR, 0).code(), Code::readOnly);
  EXPECT_EQ(r.vfs.unlink(r.ctx, 1, "f").code(), Code::readOnly);
  EXPECT_EQ(r.vfs.open(r.ctx, r.find(1, "f"), O_RDWR).code(), Code::readOnly);
  EXPECT_EQ(r.truncate(r.find(1, "f"), 0), Code::readOnly);
  EXPECT_EQ(r.get(r.find(1, "f")), "x");
}

TEST_F(NamesTest, XattrSwitches) {
  fs_.put(1, "f", "x");
  Ino f = fs_.find(1, "f");
  ASSERT_TRUE(fs_.vfs.setxattr(fs_.ctx, f, "user.a", "v", 1).isOk());
  EXPECT_EQ(fs_.vfs.setxattr(fs_.ctx, f, "user.a", "v", 1).code(), Code::exists);
  EXPECT_EQ(*fs_.vfs.getxattr(fs_.ctx, f, "user.a"), "v");
  EXPECT_EQ(*fs_.vfs.listxattr(fs_.ctx, f), std::string("user.a\0", 7));
  EXPECT_EQ(fs_.vfs.getxattr(fs_.ctx, f, "security.capability").code(), Code::noAttribute);
  EXPECT_EQ(fs_.vfs.setxattr(fs_.ctx, f, "security.capability", "v", 0).code(), Code::unsupported);
  EXPECT_EQ(fs_.vfs.getxattr(fs_.ctx, f, std::string(256, 'n')).code(), Code::range);
  EXPECT_EQ(fs_.vfs.setxattr(fs_.ctx, f, "user.b", std::string(65537, 'v'), 0).code(), Code::range);
  ASSERT_TRUE(fs_.vfs.removexattr(fs_.ctx, f, "user.a").isOk());
  EXPECT_EQ(fs_.vfs.removexattr(fs_.ctx, f, "user.a").code(), Code::noAttribute);
  EXPECT_EQ(fs_.vfs.setxattr(fs_.ctx, f, "system.posix_acl_access", "x", 0).code(), Code::unsupported);
  auto off = volume_.mount(VfsConfig());
  EXPECT_EQ(off->vfs->getxattr(fs_.ctx, f, "user.a").code(), Code::notImplemented);
  EXPECT_EQ(off->vfs->listxattr(fs_.ctx, f).code(), Code::notImplemented);
}

TEST(AclTest, PosixAclsAreXattrs) {
  Volume volume(Volume::Kind::mem, [](meta::Format& f) { f.enableAcl = true; });
  VfsConfig config;
  config.enableAcl = true;
  auto client = volume.mount(config);
  Fs fs(*client->vfs);
  fs.put(1, "f", "x");
  Ino f = fs.find(1, "f");
  EXPECT_EQ(fs.vfs.getxattr(fs.ctx, f, "system.posix_acl_access").code(), Code::noAttribute);
  meta::AclRule rule;
  rule.owner = 7;
  rule.group = 4;
  rule.mask = 6;
  rule.other = 0;
  rule.users = {{1000, 6}};
  ASSERT_TRUE(fs.vfs.setxattr(fs.ctx, f, "system.posix_acl_access", meta::encodePosixAcl(rule), 0).isOk());
  EXPECT_EQ(fs.attr(f).attr.mode, 0760);
  auto back = fs.vfs.getxattr(fs.ctx, f, "system.posix_acl_access");
  ASSERT_TRUE(back.isOk());
  EXPECT_EQ(*meta::decodePosixAcl(*back), rule);
  EXPECT_EQ(fs.vfs.setxattr(fs.ctx, f, "system.posix_acl_access", "garbage", 0).code(), Code::invalid);
  ASSERT_TRUE(fs.vfs.removexattr(fs.ctx, f, "system.posix_acl_access").isOk());
  EXPECT_EQ(fs.vfs.getxattr(fs.ctx, f, "system.posix_acl_access").code(), Code::noAttribute);
}

TEST_F(NamesTest, IoctlFlags) {
  auto config = Volume::plain();
  config.enableIoctl = true;
  auto client = volume_.mount(config);
  Fs fs(*client->vfs);
  fs.put(1, "f", "x");
  Ino f = fs.find(1, "f");
  constexpr uint32_t kGet = 0x80086601, kSet = 0x40086602, kGetX = 0x801c581f;
  std::string immutable("\x10\0\0\0\0\0\0\0", 8);
  ASSERT_TRUE(fs.vfs.ioctl(fs.ctx, f, 0, kSet, immutable, 0).isOk());
  EXPECT_EQ(*fs.vfs.ioctl(fs.ctx, f, 0, kGet, "", 8), immutable);
  EXPECT_EQ(fs.vfs.ioctl(fs.ctx, f, 0, kGetX, "", 28)->size(), 28u);
  EXPECT_EQ(fs.vfs.unlink(fs.ctx, 1, "f").code(), Code::notPermitted);
  EXPECT_EQ(fs.vfs.ioctl(fs.ctx, f, 0, kSet, std::string("\x02\0\0\0\0\0\0\0", 8), 0).code(), Code::unsupported);
  ASSERT_TRUE(fs.vfs.ioctl(fs.ctx, f, 0, kSet, std::string(8, '\0'), 0).isOk());
  EXPECT_EQ(fs.vfs.ioctl(fs.ctx, f, 0, 0x1234, "", 0).code(), Code::noTty);
  EXPECT_EQ(fs_.vfs.ioctl(fs_.ctx, f, 0, kGet, "", 8).code(), Code::noTty);
}

}  // namespace
}  // namespace aquifer::vfs
