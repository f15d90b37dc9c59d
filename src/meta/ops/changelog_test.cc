#include "meta/ops/changelog.h"

#include <gtest/gtest.h>

#include "meta/ops/meta.h"

namespace aquifer::meta {
namespace {

// The expected texts are what a Go client of this format wrote for the same operations.
TEST(ChangeLog, namesAndLinks) {
  EXPECT_EQ(changelog::create(2, "a,b(1)", 0, 0, FileType::regular, 0666, 022, "", false, 3),
            "CREATE(2,a%2Cb%281%29,0,0,1,438,18,,linux,false):3");
  EXPECT_EQ(changelog::create(2, "sym", 0, 0, FileType::symlink, 0777, 0, "tgt%", false, 4),
            "CREATE(2,sym,0,0,3,511,0,tgt%25,linux,false):4");
  EXPECT_EQ(changelog::unlink(2, "op", kTrashIno + 1, false, false, 7), "UNLINK(2,op,9223372032828243969,false,false):7");
  const std::string names[] = {"f0", "f1", "f2"};
  const Ino inos[] = {10, 11, 12};
  EXPECT_EQ(changelog::unlinkBatch(9, names, 0, true, inos), "UNLINKBATCH(9,f0,f1,f2,0,true):10,11,12");
  EXPECT_EQ(changelog::rmdir(2, "sub", 0, 9), "RMDIR(2,sub,0):9");
  EXPECT_EQ(changelog::move(2, "cp", 2, "frag", 2, 18, kTrashIno + 1, 6), "MOVE(2,cp,2,frag,2,18,9223372032828243969):6");
  EXPECT_EQ(changelog::link(3, 2, "ln", false, 2), "LINK(3,2,ln,false):2");
}

TEST(ChangeLog, attributesAndData) {
  Attr a;
  a.mode = 0644;
  a.flags = 1;
  a.atime = {1, 2};
  a.mtime = {3, 4};
  a.ctime = {5, 6};
  EXPECT_EQ(changelog::setAttr(18, kSetFlags, 0, a), "SETATTR(18,8192,0,0,0,420,1,1,3,2,4,5,6,0)");
  EXPECT_EQ(changelog::setAttr(18, kSetMode | kSetMtime, 0, a), "SETATTR(18,33,0,0,0,420,1,1,3,2,4,5,6,0)");
  EXPECT_EQ(changelog::write(18, 0, {3, 7, 4, 0, 4}, {1796097028, 434476242}, 2), "WRITE(18,0,3,7,4,1796097028,434476242):2");
  EXPECT_EQ(changelog::copyFileRange(3, 0, 6, 0, 5, 5), "COPYFILERANGE(3,0,6,0,5):5");
  EXPECT_EQ(changelog::compactChunk(18, 0, 0, 12, 0, 19, 37), "COMPACTCHUNK(18,0,0,12,0,19,37)");
  EXPECT_EQ(changelog::clone(9, 2, "sub2", 13, 0, 18, true), "CLONE(9,2,sub2,13,0,18,true):13");
  EXPECT_EQ(changelog::setXattr(3, "user.k", "v\x01", 0), "SETXATTR(3,user.k,v%01,0)");
  EXPECT_EQ(changelog::setFacl(3, 1, {6, 0, 6, 0, {{1001, 6}}, {}}),
            "SETFACL(3,1,%00%06%00%00%00%06%00%00%00%00%00%01%00%00%03%E9%00%06%00%00%00%00)");
}

TEST(ChangeLog, locksSessionsAndCounters) {
  EXPECT_EQ(changelog::flock(3, 6474400472199701483, 'U'), "FLOCK(3,6474400472199701483,U)");
  EXPECT_EQ(changelog::setLk(3, 13643030640631163871u, {1, 24561, 5, 14}), "SETLK(3,13643030640631163871,W,5,14,24561)");
  EXPECT_EQ(changelog::setLk(3, 13643030640631163871u, {2, 0, 5, 14}), "SETLK(3,13643030640631163871,U,5,14,0)");
  EXPECT_EQ(changelog::newSession(1, 1796097073, R"({"IPAddrs":["a","b"]})"),
            "NEWSESSION(1,1796097073,{%22IPAddrs%22:[%22a%22%2C%22b%22]})");
  EXPECT_EQ(changelog::incrCounter("nextInode", 1024), "INCR_COUNTER(nextInode,1024)");
  EXPECT_EQ(changelog::set("lastCleanupSessions", 1796097025), "SET(lastCleanupSessions,1796097025)");
  EXPECT_EQ(changelog::dirStat(1, {0, 4096, 1}), "DIRSTAT(1,0,4096,1)");
  EXPECT_EQ(changelog::setQuota(0, 2, 1073741824, -1), "SETQUOTA(0,2,1073741824,-1)");
}

}  // namespace
}  // namespace aquifer::meta
