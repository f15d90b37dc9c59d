#include "access/fuse/listeners.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/clock.h"

namespace aquifer::fuse {
namespace {

constexpr uint32_t kOp = 3, kRead = static_cast<uint32_t>(Op::read);
constexpr int64_t kLimit = 1'000'000;

// Threads that join when they are spawned and stay at their place until they are told to leave.
class ListenersTest : public ::testing::Test {
 protected:
  ~ListenersTest() override {
    end_ = true;
    listeners_.stop();
    for (auto& t : threads_) t.join();
  }
  bool spawn() {
    if (refuse_) return false;
    std::lock_guard lock(mu_);
    ++spawned_;
    threads_.emplace_back([this] {
      for (bool first = true; !end_ && listeners_.join(first); first = false) {
        ++listening_;
        while (!end_ && takes_.load() == 0) sleepMs(1);
        takes_ = 0;
        --listening_;
        listeners_.leave(kOp);
      }
    });
    return true;
  }
  static void makeQuick(Listeners& l, uint32_t op) {
    for (int i = 0; i < Listeners::kSlowCalls; ++i) l.served(op, 10'000);
  }
  bool within(int64_t ms, const std::function<bool()>& true_) {
    for (const int64_t end = monotonicNanos() + ms * 1'000'000; monotonicNanos() < end; sleepMs(1))
      if (true_()) return true;
    return true_();
  }

  std::mutex mu_;
  std::vector<std::thread> threads_;
  std::atomic<int> spawned_{0}, listening_{0}, takes_{0};
  std::atomic<bool> end_{false}, refuse_{false};
  Listeners listeners_{2, kLimit, [this] { return spawn(); }};
};

TEST_F(ListenersTest, TheLastOneThatLeavesForSomethingSlowIsReplaced) {
  ASSERT_TRUE(listeners_.join(true));
  ASSERT_TRUE(listeners_.join(true));
  listeners_.leave(kOp);
  EXPECT_EQ(spawned_, 0);   // one still listens
  listeners_.leave(kOp);    // of a kind that nothing is known of
  EXPECT_TRUE(within(5000, [&] { return listening_ == 1; }));
  EXPECT_EQ(spawned_, 1);
}

TEST_F(ListenersTest, AQuickOperationNeedsNoReplacementUnlessItLastsAfterAll) {
  makeQuick(listeners_, kOp);
  ASSERT_TRUE(listeners_.join(true));
  for (int i = 0; i < 50; ++i) {
    listeners_.leave(kOp);
    ASSERT_TRUE(listeners_.join(false));
  }
  EXPECT_EQ(spawned_, 0);
  listeners_.leave(kOp);   // and stays away
  EXPECT_TRUE(within(5000, [&] { return listening_ == 1; }));
}

TEST_F(ListenersTest, TheWatcherWakesAgainAfterACalmTime) {
  makeQuick(listeners_, kOp);
  ASSERT_TRUE(listeners_.join(true));
  sleepMs(1500);   // it dozes by now
  listeners_.leave(kOp);
  EXPECT_TRUE(within(5000, [&] { return listening_ == 1; }));
}

TEST_F(ListenersTest, OneSlowCallMakesItsKindSlowForAWhile) {
  makeQuick(listeners_, kOp);
  makeQuick(listeners_, kRead);
  listeners_.served(kOp, kLimit / 2);   // quick for metadata,
  listeners_.served(kRead, kLimit / 2); // not for bytes
  ASSERT_TRUE(listeners_.join(true));
  listeners_.leave(kRead);
  EXPECT_EQ(spawned_, 1);
}

TEST_F(ListenersTest, MoreThanWantedAreParkedAndCalledAgain) {
  ASSERT_TRUE(listeners_.join(true));
  ASSERT_TRUE(listeners_.join(true));
  {
    std::lock_guard lock(mu_);
    threads_.emplace_back([this] {
      if (listeners_.join(false)) ++listening_;   // waits: two listen
    });
  }
  sleepMs(50);
  EXPECT_EQ(listening_, 0);
  EXPECT_EQ(listeners_.listening(), 2);
  listeners_.leave(kOp), listeners_.leave(kOp);
  EXPECT_TRUE(within(5000, [&] { return listening_ == 1; }));
  EXPECT_EQ(spawned_, 0);
}

TEST_F(ListenersTest, AThreadThatCannotBeHadIsAskedForAgain) {
  ASSERT_TRUE(listeners_.join(true));
  refuse_ = true;
  listeners_.leave(kOp);
  EXPECT_EQ(spawned_, 0);
  refuse_ = false;
  EXPECT_TRUE(within(5000, [&] { return listening_ == 1; }));   // by the watcher
}

}  // namespace
}  // namespace aquifer::fuse
