#include "base/stages.h"

#include <gtest/gtest.h>

#include <thread>

namespace aquifer {

TEST(Stages, InnerTimeCountsOnce) {
  auto before = ScopedStage::sums();
  const int64_t start = monotonicNanos();
  {
    ScopedStage outer(Stage::cache);
    sleepMs(2);
    {
      ScopedStage inner(Stage::network);
      sleepMs(5);
    }
    std::thread([] {
      ScopedStage elsewhere(Stage::metadata);
      sleepMs(3);
    }).join();
  }
  const int64_t took = monotonicNanos() - start;
  auto grown = [&](Stage s) { return ScopedStage::sums()[static_cast<size_t>(s)] - before[static_cast<size_t>(s)]; };
  EXPECT_GE(grown(Stage::network), 5'000'000);
  EXPECT_GE(grown(Stage::cache), 5'000'000);
  EXPECT_LE(grown(Stage::network) + grown(Stage::cache), took);
  EXPECT_EQ(grown(Stage::metadata), 0);   // of another thread
}

TEST(Stages, WaitingIsSharedOutAsTheWork) {
  auto before = ScopedStage::sums();
  StageNanos work{};
  work[static_cast<size_t>(Stage::network)] = 100;
  work[static_cast<size_t>(Stage::limit)] = 300;
  ScopedStage::waited(1000, work);
  ScopedStage::waited(7, {});
  auto grown = ScopedStage::since(before);
  EXPECT_EQ(grown[static_cast<size_t>(Stage::network)], 250);
  EXPECT_EQ(grown[static_cast<size_t>(Stage::limit)], 750);
  EXPECT_EQ(grown[static_cast<size_t>(Stage::queue)], 7);
}

}  // namespace aquifer
