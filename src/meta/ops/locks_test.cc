#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "meta/ops/testing.h"

namespace aquifer::meta {
namespace {

constexpr uint64_t kEnd = ~0ull;

class LocksTest : public MetaTest {
 protected:
  Status flock(Ino ino, uint64_t owner, LockType type) { return meta_->flock(root, ino, owner, type, false); }
  Status setlk(Ino ino, uint64_t owner, LockRange range, bool block = false) {
    return meta_->setlk(root, ino, owner, range, block);
  }
};

TEST_P(LocksTest, flockConflicts) {
  const Ino f = mk(1, "f");
  auto other = another();
  AQ_EXPECT_OK(flock(f, 1, LockType::read));
  AQ_EXPECT_OK(other->flock(root, f, 1, LockType::read, false));  // the same owner number in another session is another owner
  EXPECT_TRUE(flock(f, 1, LockType::write).is(Code::wouldBlock));
  AQ_EXPECT_OK(other->flock(root, f, 1, LockType::unlock, false));
  AQ_EXPECT_OK(flock(f, 1, LockType::write));
  EXPECT_TRUE(other->flock(root, f, 2, LockType::read, false).is(Code::wouldBlock));
  AQ_EXPECT_OK(flock(f, 1, LockType::read));
  AQ_EXPECT_OK(other->flock(root, f, 2, LockType::read, false));
  AQ_EXPECT_OK(flock(f, 7, LockType::unlock));  // nothing held: fine
  EXPECT_EQ(meta_->locks(f)->first.size(), 2u);
  EXPECT_TRUE(flock(9999, 1, LockType::read).is(Code::notFound));
  AQ_EXPECT_OK(other->closeSession());  // its lock goes with its session
  EXPECT_EQ(meta_->locks(f)->first, (FlockTable{{meta_->sid(), 1, 'R'}}));
  AQ_EXPECT_OK(flock(f, 1, LockType::unlock));
  EXPECT_EQ(count(Kind::flock), 0u);
}

TEST_P(LocksTest, ranges) {
  const Ino f = mk(1, "f");
  AQ_EXPECT_OK(setlk(f, 1, {1, 100, 0, 99}));
  AQ_EXPECT_OK(setlk(f, 1, {0, 100, 10, 19}));
  EXPECT_EQ(meta_->locks(f)->second, (PlockTable{{meta_->sid(), 1, {{1, 100, 0, 9}, {0, 100, 10, 19}, {1, 100, 20, 99}}}}));
  AQ_EXPECT_OK(setlk(f, 2, {0, 200, 12, 15}));
  EXPECT_TRUE(setlk(f, 2, {0, 200, 5, 15}).is(Code::wouldBlock));
  EXPECT_EQ(*meta_->getlk(root, f, 2, {1, 200, 0, 500}), (LockRange{1, 100, 0, 9}));
  EXPECT_EQ(meta_->getlk(root, f, 2, {1, 200, 100, 500})->type, 2u);
  auto other = another();
  const auto seen = other->getlk(root, f, 2, {1, 300, 0, 500});
  EXPECT_EQ(*seen, (LockRange{1, 0, 0, 9}));  // the process of another client is not told
  AQ_EXPECT_OK(setlk(f, 1, {2, 0, 0, kEnd}));
  AQ_EXPECT_OK(setlk(f, 2, {2, 0, 0, kEnd}));
  EXPECT_EQ(count(Kind::plock), 0u);
  EXPECT_TRUE(setlk(f, 2, {3, 0, 0, 1}).is(Code::invalid));
  EXPECT_TRUE(setlk(f, 2, {1, 0, 2, 1}).is(Code::invalid));
  AQ_EXPECT_OK(other->closeSession());
}

TEST_P(LocksTest, waitsUntilTheOtherLetsGo) {
  const Ino f = mk(1, "f");
  auto other = another();
  AQ_ASSERT_OK(other->setlk(root, f, 1, {1, 1, 0, 9}, false));
  AQ_ASSERT_OK(setlk(f, 5, {1, 1, 20, 29}));
  std::atomic<int> got{0};
  std::thread remote([&] {  // released by another client
    AQ_EXPECT_OK(setlk(f, 2, {1, 2, 5, 5}, true));
    ++got;
  });
  std::thread local([&] {  // released by this one
    AQ_EXPECT_OK(setlk(f, 6, {0, 2, 25, 25}, true));
    ++got;
  });
  EXPECT_TRUE(setlk(f, 7, {1, 1, 0, 40}).is(Code::wouldBlock));
  EXPECT_EQ(got, 0);
  AQ_EXPECT_OK(other->setlk(root, f, 1, {2, 1, 0, 9}, false));
  AQ_EXPECT_OK(setlk(f, 5, {2, 0, 0, kEnd}));
  remote.join();
  local.join();
  EXPECT_EQ(got, 2);
  AQ_EXPECT_OK(other->closeSession());
}

TEST_P(LocksTest, waitingEndsWhenInterrupted) {
  const Ino f = mk(1, "f");
  AQ_ASSERT_OK(setlk(f, 1, {1, 1, 0, 9}));
  AQ_ASSERT_OK(flock(f, 1, LockType::write));
  int asked = 0;
  Context ctx = root;
  ctx.interrupted = [&] { return ++asked > 3; };
  EXPECT_TRUE(meta_->setlk(ctx, f, 2, {1, 2, 0, 9}, true).is(Code::interrupted));
  asked = 0;
  EXPECT_TRUE(meta_->flock(ctx, f, 2, LockType::read, true).is(Code::interrupted));
  EXPECT_EQ(meta_->locks(f)->second.size(), 1u);
}

TEST_P(LocksTest, aCycleOfThreeFailsOneOfThem) {
  const Ino f = mk(1, "f");
  for (uint64_t i = 0; i < 3; ++i) AQ_ASSERT_OK(setlk(f, i + 1, {1, 1, i * 10, i * 10}));
  std::atomic<int> dead{0}, granted{0};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      const uint64_t next = (i + 1) % 3;
      const auto s = setlk(f, i + 1, {1, 1, next * 10, next * 10}, true);
      if (s.is(Code::deadlock))
        ++dead;
      else if (s)
        ++granted;
      AQ_EXPECT_OK(setlk(f, i + 1, {2, 0, 0, kEnd}));
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(dead, 1);
  EXPECT_EQ(granted, 2);
  EXPECT_EQ(count(Kind::plock), 0u);
}

TEST_P(LocksTest, crowdedButNoCycleIsNoDeadlock) {
  const Ino a = mk(1, "a"), b = mk(1, "b");
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {  // everybody takes a before b: waiting, but never in a circle
      for (int round = 0; round < 15; ++round) {
        if (!setlk(a, i + 1, {1, 1, 0, 9}, true)) ++failed;
        if (!setlk(b, i + 1, {1, 1, 0, 9}, true)) ++failed;
        if (!setlk(a, i + 1, {2, 0, 0, kEnd})) ++failed;
        if (!setlk(b, i + 1, {2, 0, 0, kEnd})) ++failed;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(failed, 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, LocksTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

}  // namespace
}  // namespace aquifer::meta
