// The small parts: mount words, groups, errnos, interrupts.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "access/fuse/errnos.h"
#include "access/fuse/identity.h"
#include "access/fuse/inflight.h"
#include "access/fuse/mount_options.h"
#include "access/fuse/read_ahead.h"

namespace aquifer::fuse {
namespace {

TEST(MountOptions, FlagsAndWordsForTheKernel) {
  MountOptions o;
  o.mountPoint = "/m", o.fsName = "JuiceFS:v", o.maxRead = 131072;
  o.extra = {"noatime", "suid", "blksize=4096"};
  auto k = kernelMount(o, 9);
  EXPECT_EQ(k.type, "fuse.juicefs");
  EXPECT_EQ(k.flags, static_cast<unsigned long>(MS_NODEV | MS_NOATIME));
  EXPECT_EQ(k.data.rfind("fd=9,rootmode=40000,user_id=", 0), 0u);
  EXPECT_NE(k.data.find(",default_permissions,allow_other,max_read=131072,blksize=4096"), std::string::npos);
  o.allowOther = o.defaultPermissions = false;
  k = kernelMount(o, 9);
  EXPECT_EQ(k.data.find("allow_other"), std::string::npos);
  EXPECT_EQ(k.data.find("default_permissions"), std::string::npos);
}

TEST(MountOptions, UnknownWordsAreNamed) {
  MountOptions o;
  o.mountPoint = "/m", o.extra = {"noexec", "what"};
  auto s = checkMountOptions(o);
  EXPECT_TRUE(s.is(Code::config));
  EXPECT_NE(s.text().find("\"what\""), std::string::npos);
  o.extra = {"noexec", "allow_other", "max_read=4096", "ro", ""};
  EXPECT_TRUE(checkMountOptions(o).isOk());
}

TEST(MountOptions, CommasInNamesAreEscapedForTheHelper) {
  MountOptions o;
  o.fsName = "JuiceFS:a,b";
  EXPECT_NE(fusermountOptions(o).find("fsname=JuiceFS:a\\,b,"), std::string::npos);
}

TEST(ReadAhead, TheTopmostMountOfAPathWithSpaces) {
  const std::string info =
      "22 1 254:1 / / rw - ext4 /dev/root rw\n"
      "40 22 0:37 / /mnt/a\\040b rw - fuse.juicefs JuiceFS:v rw\n"
      "41 40 0:38 / /mnt/a\\040b rw - fuse.juicefs JuiceFS:v rw\n";
  EXPECT_EQ(mountDevice(info, "/mnt/a b"), "0:38");
  EXPECT_EQ(mountDevice(info, "/mnt/a"), "");
}

TEST(Identity, GroupsOfAStatusText) {
  EXPECT_EQ(parseGroups("Name:\tx\nGroups:\t4 24 27 \nNStgid:\t1\n"), (std::vector<uint32_t>{4, 24, 27}));
  EXPECT_TRUE(parseGroups("Name:\tx\nGroups:\t\nX:\t1\n").empty());
  EXPECT_TRUE(parseGroups("").empty());
}

TEST(Errnos, OnlyWhatManualPagesName) {
  EXPECT_EQ(documentedErrno(Op::open, 512), EIO);
  EXPECT_EQ(documentedErrno(Op::open, ENOENT), ENOENT);
  EXPECT_EQ(documentedErrno(Op::open, ENOSYS), EOPNOTSUPP);  // else the kernel would stop sending OPEN
  EXPECT_EQ(documentedErrno(Op::lseek, ENOSYS), ENOSYS);
  EXPECT_EQ(documentedErrno(Op::ioctl, ENOSYS), ENOTTY);
  EXPECT_EQ(documentedErrno(Op::setlk, EAGAIN), EAGAIN);
  EXPECT_EQ(documentedErrno(Op::mkdir, EAGAIN), EIO);
  EXPECT_EQ(documentedErrno(Op::setlkw, EDEADLK), EDEADLK);
  EXPECT_EQ(documentedErrno(Op::rename, EDEADLK), EIO);
  EXPECT_EQ(documentedErrno(Op::read, EPROTO), EIO);
}

TEST(Inflight, AnInterruptFindsItsRequest) {
  Inflight f(4);
  auto* a = f.claim();
  auto* b = f.claim();
  f.begin(a, 10, 1), f.begin(b, 12, 1);
  f.interrupt(12);
  EXPECT_FALSE(a->interruptedNow());
  EXPECT_TRUE(b->interruptedNow());
  f.end(b);
  f.begin(b, 14, 1);
  EXPECT_FALSE(b->interruptedNow());
  EXPECT_EQ(f.busy(), 2u);
}

TEST(Inflight, AnInterruptThatOvertakesItsRequestIsKept) {
  Inflight f(2);
  f.interrupt(20);
  auto* a = f.claim();
  f.begin(a, 22, INT64_MAX / 2 - 5);  // others pass; notes of long ago are dropped on the way
  EXPECT_FALSE(a->interruptedNow());
  f.interrupt(30);
  auto* b = f.claim();
  f.begin(b, 30, 5);
  EXPECT_TRUE(b->interruptedNow());
  EXPECT_EQ(f.claim(), nullptr);
  f.release(a);
  EXPECT_NE(f.claim(), nullptr);
}

TEST(Inflight, OldRequestsAreInterruptedButNotWaitsForLocks) {
  Inflight f(3);
  auto *old = f.claim(), *lock = f.claim(), *young = f.claim();
  f.begin(old, 2, 0), f.begin(lock, 4, 0), f.begin(young, 6, INT64_MAX / 2);
  lock->patient = true;
  EXPECT_EQ(f.interruptOlder(1), 1u);
  EXPECT_TRUE(old->interruptedLate());
  EXPECT_FALSE(lock->interruptedNow());
  EXPECT_FALSE(young->interruptedNow());
  EXPECT_EQ(f.interruptAll(), 3u);
}

TEST(Inflight, DataWaitsASecondBeforeItListens) {
  Inflight f(1);
  auto* a = f.claim();
  f.begin(a, 2, INT64_MAX / 2);  // began "in the future": no second has passed
  f.interrupt(2);
  EXPECT_TRUE(a->interruptedNow());
  EXPECT_FALSE(a->interruptedLate());
  f.begin(a, 4, 0);
  f.interrupt(4);
  EXPECT_TRUE(a->interruptedLate());
}

}  // namespace
}  // namespace aquifer::fuse
