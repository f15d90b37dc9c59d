#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>

namespace aquifer {
namespace {

TEST(ThreadPool, RunsEverything) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool("test", 4, 10);
    for (int i = 0; i < 1000; i++) pool.submit([&] { ran++; });
    pool.drain();
    EXPECT_EQ(ran, 1000);
    for (int i = 0; i < 10; i++) pool.submit([&] { ran++; });
  }
  EXPECT_EQ(ran, 1010);  // the destructor runs what is queued
}

TEST(ThreadPool, UsesAllThreadsAndNoMore) {
  ThreadPool pool("test", 3, 100);
  std::latch all(3);
  std::mutex mu;
  std::set<std::thread::id> ids;
  for (int i = 0; i < 3; i++) {
    pool.submit([&] {
      all.arrive_and_wait();  // passes only when three run at once
      std::lock_guard lock(mu);
      ids.insert(std::this_thread::get_id());
    });
  }
  pool.drain();
  for (int i = 0; i < 50; i++) {
    pool.submit([&] {
      std::lock_guard lock(mu);
      ids.insert(std::this_thread::get_id());
    });
  }
  pool.drain();
  EXPECT_EQ(ids.size(), 3u);
}

TEST(ThreadPool, QueueIsBounded) {
  ThreadPool pool("test", 1, 2);
  std::latch started(1), release(1);
  pool.submit([&] {
    started.count_down();
    release.wait();
  });
  started.wait();
  std::atomic<int> ran{0};
  EXPECT_TRUE(pool.trySubmit([&] { ran++; }));
  EXPECT_TRUE(pool.trySubmit([&] { ran++; }));
  EXPECT_FALSE(pool.trySubmit([&] { ran++; }));
  release.count_down();
  pool.drain();
  EXPECT_EQ(ran, 2);
}

TEST(ThreadPool, AfterStop) {
  ThreadPool pool("test", 2, 2);
  int ran = 0;
  pool.submit([&] { ran++; });
  pool.stop();
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(pool.trySubmit([&] { ran++; }));
  pool.submit([&] { ran++; });  // here and now
  EXPECT_EQ(ran, 2);
  pool.stop();
}

TEST(ThreadPool, TasksMaySubmit) {
  ThreadPool pool("test", 2, 100);
  std::atomic<int> ran{0};
  for (int i = 0; i < 5; i++) {
    pool.submit([&] {
      pool.submit([&] { ran++; });
      ran++;
    });
  }
  pool.drain();
  EXPECT_EQ(ran, 10);
}

TEST(ThreadPool, WhatATaskHoldsIsFreedBeforeDrainReturns) {
  ThreadPool pool("test", 1, 1);
  auto held = std::make_shared<int>(1);
  pool.submit([held] {});
  pool.drain();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace aquifer
