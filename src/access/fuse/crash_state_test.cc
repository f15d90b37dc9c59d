#include "access/fuse/crash_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace aquifer::fuse {
namespace {

class CrashStateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto fd = CrashState::create();
    ASSERT_TRUE(fd.isOk());
    fd_ = *fd;
  }
  void TearDown() override { close(fd_); }
  std::unique_ptr<CrashState> map() {
    auto s = CrashState::map(fd_);
    EXPECT_TRUE(s.isOk());
    return std::move(*s);
  }
  int fd_ = -1;
};

TEST_F(CrashStateTest, HandlesSurviveAndClosedOnesDoNot) {
  {
    auto s = map();
    for (uint64_t fh = 1; fh <= 1000; ++fh) s->opened(fh, 10 + fh, fh % 2 ? O_RDONLY : O_RDWR);
    for (uint64_t fh = 1; fh <= 1000; fh += 3) s->closed(fh);
    s->opened(2000, 5, O_WRONLY);  // takes a free place
  }
  auto s = map();
  auto got = s->recover();
  EXPECT_EQ(got.nextHandle, 2001u);
  EXPECT_EQ(got.handles.size(), 1000 - 334 + 1u);
  for (const auto& h : got.handles) {
    if (h.fh == 2000) continue;
    EXPECT_NE(h.fh % 3, 1u);
    EXPECT_EQ(h.ino, 10 + h.fh);
    EXPECT_EQ(h.flags, static_cast<uint32_t>(h.fh % 2 ? O_RDONLY : O_RDWR));
    EXPECT_FALSE(h.lost);
  }
  // The successor goes on with the same table.
  s->closed(2000);
  EXPECT_EQ(map()->recover().handles.size(), got.handles.size() - 1);
}

TEST_F(CrashStateTest, WritableHandlesOfDirtyInodesAreMarkedOnce) {
  {
    auto s = map();
    s->opened(2, 100, O_RDWR);
    s->opened(3, 100, O_RDONLY);
    s->opened(4, 200, O_WRONLY);
    s->dirty(100, true);
    s->dirty(100, true);
    s->dirty(200, true);
    s->dirty(200, false);
  }
  auto s = map();
  auto got = s->recover();
  EXPECT_EQ(got.lostInodes, 1u);
  for (const auto& h : got.handles) EXPECT_EQ(h.lost, h.fh == 2) << h.fh;
  for (const auto& h : map()->recover().handles) EXPECT_FALSE(h.lost);
}

TEST_F(CrashStateTest, MoreDirtyInodesThanFitMakeAllSuspect) {
  {
    auto s = map();
    for (uint64_t ino = 1; ino <= CrashState::kDirty + 1; ++ino) s->dirty(ino, true);
    s->opened(2, 1'000'000, O_RDWR);
    s->opened(3, 1'000'000, O_RDONLY);
  }
  for (const auto& h : map()->recover().handles) EXPECT_EQ(h.lost, h.fh == 2);
}

TEST_F(CrashStateTest, NotesBecomeOrphansUntilTheyAreAnswered) {
  {
    auto s = map();
    auto& n = s->note(7);
    n.op = 35, n.ino = 42, n.flags = kJournalStarted, n.identity = 1234;
    CrashState::setCurrent(&n);
    s->opened(9, 42, O_RDWR);
    CrashState::setCurrent(nullptr);
    s->note(8).identity = 0;
  }
  {
    auto s = map();
    s->recover();
    auto* o = s->findOrphan(1234);
    ASSERT_NE(o, nullptr);
    EXPECT_EQ(o->ino.load(), 42u);
    EXPECT_EQ(o->fh.load(), 9u);
    EXPECT_EQ(o->flags.load(), static_cast<uint32_t>(kJournalStarted | kJournalOpened));
    EXPECT_EQ(s->findOrphan(0), nullptr);
    EXPECT_EQ(s->note(7).identity.load(), 0u);
    s->note(7).identity = 1236;  // dies again before 1234 came back
  }
  auto s = map();
  s->recover();
  ASSERT_NE(s->findOrphan(1234), nullptr);
  ASSERT_NE(s->findOrphan(1236), nullptr);
  s->dropOrphan(s->findOrphan(1234));
  EXPECT_EQ(s->findOrphan(1234), nullptr);
  auto again = map();
  again->recover();
  EXPECT_EQ(again->findOrphan(1234), nullptr);
  EXPECT_NE(again->findOrphan(1236), nullptr);
}

TEST_F(CrashStateTest, CrashesAreCountedForWhatWasBeingWorkedOn) {
  auto first = map();
  first->note(0).identity = 50, first->note(1).identity = 52;
  first->setCrashed(true);
  auto second = map();
  second->recover();
  ASSERT_NE(second->findOrphan(50), nullptr);
  EXPECT_EQ(second->findOrphan(50)->deaths.load(), 1u);
  second->findOrphan(50)->active = 1;  // came back, and the process crashed again
  second->setCrashed(true);
  auto third = map();
  third->recover();
  EXPECT_EQ(third->findOrphan(50)->deaths.load(), 2u);
  EXPECT_EQ(third->findOrphan(52)->deaths.load(), 1u);
  third->findOrphan(50)->active = 1;  // killed from outside this time
  auto fourth = map();
  fourth->recover();
  EXPECT_EQ(fourth->findOrphan(50)->deaths.load(), 2u);
}

TEST_F(CrashStateTest, ForeignMemoryIsRefused) {
  ASSERT_EQ(ftruncate(fd_, 4096), 0);
  EXPECT_FALSE(CrashState::map(fd_).isOk());
}

TEST_F(CrashStateTest, HeartbeatAndSessionAreSeenByTheSupervisor) {
  auto worker = map(), supervisor = map();
  EXPECT_EQ(supervisor->beats(), 0u);
  worker->beat();
  worker->setSession(17);
  EXPECT_EQ(supervisor->beats(), 1u);
  EXPECT_EQ(supervisor->session(), 17u);
}

}  // namespace
}  // namespace aquifer::fuse
