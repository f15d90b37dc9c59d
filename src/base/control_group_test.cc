#include "base/control_group.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace aquifer {
namespace {

const char* kMixed =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(ControlGroup, Version1HasTheWordEvenBesideVersion2) {
  const auto g = ControlGroup::from("5:devices:/x\n4:cpu,memory:/a/b\n0::/u\n", kMixed);
  ASSERT_TRUE(g);
  EXPECT_EQ(g->version(), 1);
  EXPECT_EQ(g->folder(), "/sys/fs/cgroup/memory/a/b");
}

TEST(ControlGroup, Version2) {
  const auto g = ControlGroup::from("0::/system.slice/x.service\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
  ASSERT_TRUE(g);
  EXPECT_EQ(g->version(), 2);
  EXPECT_EQ(g->folder(), "/sys/fs/cgroup/system.slice/x.service");
}

TEST(ControlGroup, AContainerSeesItsOwnFolderAsTheRoot) {
  const auto g = ControlGroup::from("4:memory:/docker/1234\n", "35 31 0:32 /docker/1234 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  ASSERT_TRUE(g);
  EXPECT_EQ(g->folder(), "/sys/fs/cgroup/memory");
}

TEST(ControlGroup, NoneAndNonsense) {
  EXPECT_FALSE(ControlGroup::from("", kMixed));
  EXPECT_FALSE(ControlGroup::from("nonsense\n:\n::\n", kMixed));
  EXPECT_FALSE(ControlGroup::from("4:memory:/a\n", ""));
  EXPECT_FALSE(ControlGroup::from("4:memory:/a\n", "35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n - \n"));
}

// A hierarchy of plain files: what would be read is there.
class Tree : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/aquifer-group-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    std::filesystem::create_directories(root_ + "/a/b");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& name, const std::string& text) { std::ofstream(root_ + "/" + name) << text; }
  ControlGroup group(int version) {
    return *ControlGroup::from(version == 2 ? "0::/a/b\n" : "4:memory:/a/b\n",
                               "35 31 0:32 / " + root_ + (version == 2 ? " rw - cgroup2 cgroup2 rw\n" : " rw - cgroup cgroup rw,memory\n"));
  }
  std::string root_;
};

TEST_F(Tree, TheSmallestLimitOnTheWayUpCounts) {
  put("a/b/memory.max", "max\n");
  EXPECT_FALSE(group(2).limit());
  put("a/memory.max", "1048576\n");
  EXPECT_EQ(group(2).limit(), 1048576u);
  put("a/b/memory.max", "4096\n");
  EXPECT_EQ(group(2).limit(), 4096u);
  put("a/b/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(group(1).limit());
  put("memory.limit_in_bytes", "8192\n");
  EXPECT_EQ(group(1).limit(), 8192u);
}

TEST_F(Tree, UsageAndReclaim) {
  EXPECT_EQ(group(2).usage(), 0u);
  EXPECT_FALSE(group(2).reclaim(100));
  put("a/b/memory.current", "12345\n");
  put("a/b/memory.reclaim", "");
  EXPECT_EQ(group(2).usage(), 12345u);
  EXPECT_TRUE(group(2).reclaim(100));
  std::string word;
  std::ifstream(root_ + "/a/b/memory.reclaim") >> word;
  EXPECT_EQ(word, "100");
}

TEST_F(Tree, OthersInTheGroupAreSeen) {
  EXPECT_FALSE(group(2).holdsOnly(getppid()));   // nobody is known to be in
  put("a/b/cgroup.procs", std::to_string(getpid()) + "\n" + std::to_string(getppid()) + "\n");
  EXPECT_TRUE(group(2).holdsOnly(getppid()));
  EXPECT_FALSE(group(2).holdsOnly(getpid()));   // who has started us does other things too
  put("a/b/cgroup.procs", std::to_string(getpid()) + "\n4194303\n");   // of no kin, or from outside our view
  EXPECT_FALSE(group(2).holdsOnly(getppid()));
}

}  // namespace
}  // namespace aquifer
