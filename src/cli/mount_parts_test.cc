// The parts of the mount command that touch nothing: option words, fstab texts, the state file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "access/fuse/crash_state.h"
#include "cli/mount_fstab.h"
#include "cli/mount_plan.h"
#include "cli/mount_state_file.h"

namespace aquifer::cli {
namespace {

TEST(MountParts, SquashedIds) {
  uint32_t uid = 0, gid = 0;
  ASSERT_TRUE(parseSquash("1000:2000", &uid, &gid).isOk());
  EXPECT_EQ(uid, 1000u);
  EXPECT_EQ(gid, 2000u);
  ASSERT_TRUE(parseSquash("7", &uid, &gid).isOk());
  EXPECT_EQ(uid, 7u);
  EXPECT_EQ(gid, 65534u);
  ASSERT_TRUE(parseSquash(":8", &uid, &gid).isOk());
  EXPECT_EQ(uid, 65534u);
  EXPECT_EQ(gid, 8u);
  ASSERT_TRUE(parseSquash("0:0", &uid, &gid).isOk());
  EXPECT_EQ(uid, 65534u);
  EXPECT_EQ(gid, 65534u);
  EXPECT_FALSE(parseSquash("no-such-user-here:1", &uid, &gid).isOk());
}

TEST(MountParts, AnFstabEntryIsAddedOrReplaced) {
  const std::string table = "# comment\n/dev/a / ext4 defaults 0 1\nredis://h/1 /mnt/j juicefs old 0 0\n";
  EXPECT_EQ(fstabWithEntry(table, "redis://h/1", "/mnt/j", "_netdev,nofail"),
            "# comment\n/dev/a / ext4 defaults 0 1\nredis://h/1  /mnt/j  juicefs  _netdev,nofail  0 0\n");
  EXPECT_EQ(fstabWithEntry("a b c d 0 0\n", "redis://h/1", "/mnt/j", "x"), "a b c d 0 0\nredis://h/1  /mnt/j  juicefs  x  0 0\n");
}

TEST(MountParts, PruneFsIsExtendedOnce) {
  const std::string config = "PRUNE_BIND_MOUNTS=\"yes\"\nPRUNEFS=\"NFS afs fuse.sshfs ceph\"\n";
  const std::string now = withPruneFs(config);
  EXPECT_EQ(now, "PRUNE_BIND_MOUNTS=\"yes\"\nPRUNEFS=\"NFS afs fuse.juicefs fuse.sshfs ceph\"\n");
  EXPECT_EQ(withPruneFs(now), now);
  EXPECT_EQ(withPruneFs("PRUNEFS=\"NFS\"\n"), "PRUNEFS=\"NFS\"\n");
}

class StateFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char dir[] = "/tmp/aquifer-state-XXXXXX";
    ASSERT_NE(mkdtemp(dir), nullptr);
    dir_ = dir, path_ = dir_ + "/state.json";
  }
  void TearDown() override {
    for (auto name : {path_, path_ + ".bak", path_ + ".new"}) unlink(name.c_str());
    rmdir(dir_.c_str());
  }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::string dir_, path_;
};

TEST_F(StateFileTest, WhatOneWritesTheOtherReads) {
  auto from = fuse::CrashState::inProcess(), to = fuse::CrashState::inProcess();
  from->opened(3, 11, O_RDONLY);
  from->opened(4, 12, O_RDWR | O_APPEND);
  ASSERT_TRUE(saveStateFile(path_, *from, 9).isOk());
  loadStateFile(path_, *to);
  const auto got = to->recover();
  ASSERT_EQ(got.handles.size(), 2u);
  EXPECT_EQ(got.nextHandle, 9u);
  for (const auto& h : got.handles) EXPECT_EQ(h.flags, static_cast<uint32_t>(h.fh == 3 ? O_RDONLY : O_RDWR | O_APPEND));
  EXPECT_EQ(access(path_.c_str(), F_OK), -1);
  EXPECT_EQ(access((path_ + ".bak").c_str(), F_OK), 0);
}

TEST_F(StateFileTest, TheFileOfTheOriginalClient) {
  write(
      R"({"Handler":{"2":{"Inode":5,"Length":10,"Flags":32769,"UseLocks":1,"FlockOwner":7,"Off":0,"Data":"","TierID":0},"x":{"Inode":1},"3":{"Inode":-1},"5":7},"NextFh":18})");
  auto to = fuse::CrashState::inProcess();
  loadStateFile(path_, *to);
  const auto got = to->recover();
  ASSERT_EQ(got.handles.size(), 1u);
  EXPECT_EQ(got.handles[0].fh, 2u);
  EXPECT_EQ(got.handles[0].ino, 5u);
  EXPECT_EQ(got.nextHandle, 18u);
}

TEST_F(StateFileTest, DamageIsNotFatal) {
  auto to = fuse::CrashState::inProcess();
  loadStateFile(path_, *to);
  for (const char* text :
       {"", "{", "[]", "{\"Handler\":[]}", "{\"Handler\":{\"99999999999999999999\":{\"Inode\":1}},\"NextFh\":\"x\"}"}) {
    write(text);
    loadStateFile(path_, *to);
  }
  EXPECT_TRUE(to->recover().handles.empty());
}

}  // namespace
}  // namespace aquifer::cli
