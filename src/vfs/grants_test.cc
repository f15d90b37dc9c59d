#include "vfs/grants.h"

#include <gtest/gtest.h>

namespace aquifer::vfs {
namespace {

using Out = std::vector<Revoked>;

TEST(Grants, WhatWasGrantedIsTakenBackOnce) {
  Grants g(10);
  g.addName(1, "a", 100, 200);
  g.addAttr(7, 100, 200);
  EXPECT_EQ(g.size(), 2u);
  Out out;
  g.takeName(1, "b", 150, out);
  EXPECT_TRUE(out.empty());
  g.takeAll(150, out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].name, "a");   // names first
  EXPECT_EQ(out[0].grantedAt, 100);
  EXPECT_EQ(out[1].ino, 7u);
  EXPECT_EQ(g.size(), 0u);
  g.takeAll(150, out);
  EXPECT_EQ(out.size(), 2u);
}

TEST(Grants, WhatHasRunOutNeedsNoWord) {
  Grants g(10);
  g.addName(1, "a", 100, 200);
  g.addAttr(7, 100, 200);
  Out out;
  g.takeName(1, "a", 200, out);
  g.takeAttr(7, 200, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(g.size(), 0u);
}

TEST(Grants, AFullTableMakesRoomOfWhatHasRunOut) {
  Grants g(2);
  g.addAttr(1, 0, 10);
  g.addAttr(2, 0, 5'000'000'000);
  EXPECT_FALSE(g.hasRoom(1, 0, 5));
  EXPECT_FALSE(g.hasRoom(1, 1, 2'000'000'000));   // one is sent back at the moment
  EXPECT_TRUE(g.hasRoom(1, 0, 4'000'000'000));
  EXPECT_EQ(g.size(), 1u);
}

TEST(Grants, ARenameTakesTheTimeAlong) {
  Grants g(10);
  g.addName(1, "a", 100, 200);
  g.moveName(1, "a", 2, "b", false, 150);
  Out out;
  g.takeNames(2, 160, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].name, "b");
  EXPECT_EQ(out[0].grantedAt, 150);
  g.takeName(1, "a", 160, out);   // an answer with the old name may still be on its way
  EXPECT_EQ(out.size(), 2u);
}

TEST(Grants, ARemovedNameIsForgottenUnlessItIsYoung) {
  Grants g(10);
  g.addName(1, "old", 100, 900);
  g.addName(1, "young", 500, 900);
  g.dropName(1, "old", 300);
  g.dropName(1, "young", 300);
  Out out;
  g.takeNames(1, 600, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].name, "young");
}

}  // namespace
}  // namespace aquifer::vfs
