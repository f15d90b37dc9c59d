#include "chunk/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace aquifer::chunk {
namespace {

TEST(BufferPool, capacitiesArePowersOfTwo) {
  BufferPool pool(1 << 20);
  EXPECT_EQ(pool.tryGet(1)->capacity(), 4096u);
  EXPECT_EQ(pool.tryGet(4097)->capacity(), 8192u);
  EXPECT_EQ(pool.tryGet(200'000)->capacity(), 262144u);
  EXPECT_EQ(pool.used(), 0u);
}

TEST(BufferPool, theBoundIsHard) {
  BufferPool pool(64 << 10);
  auto a = pool.tryGet(32 << 10), b = pool.tryGet(32 << 10);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(pool.used(), 64u << 10);
  EXPECT_EQ(pool.tryGet(1), nullptr);
  EXPECT_TRUE(pool.get(1, {}, 0).is(Code::noMemory));
  EXPECT_TRUE(pool.get(1, [] { return true; }).is(Code::interrupted));
  a.reset();
  EXPECT_TRUE(pool.tryGet(32 << 10));
}

TEST(BufferPool, aSingleRequestBeyondTheBoundIsGrantedAlone) {
  BufferPool pool(64 << 10);
  auto big = pool.tryGet(1 << 20);
  ASSERT_TRUE(big);
  EXPECT_EQ(pool.tryGet(1), nullptr);
  big.reset();
  auto small = pool.tryGet(1);
  EXPECT_EQ(pool.tryGet(1 << 20), nullptr);
}

TEST(BufferPool, whatNobodyTakesGoesBack) {
  BufferPool pool(64 << 20);
  auto a = pool.tryGet(1 << 20), b = pool.tryGet(1 << 20);
  a.reset(), b.reset();
  EXPECT_EQ(pool.idle(), 2u << 20);
  pool.trim();
  EXPECT_EQ(pool.idle(), 2u << 20);   // given back just now
  pool.tryGet(1 << 20).reset();       // one of them is in use from time to time
  pool.trim();
  EXPECT_EQ(pool.idle(), 1u << 20);
  pool.trim();
  EXPECT_EQ(pool.idle(), 0u);
  EXPECT_TRUE(pool.tryGet(1 << 20));
}

TEST(BufferPool, waitersGoOnWhenMemoryComesBack) {
  BufferPool pool(64 << 10);
  auto held = pool.tryGet(64 << 10);
  std::thread waiter([&] {
    auto got = pool.get(4096);
    EXPECT_TRUE(got);
  });
  held.reset();
  waiter.join();
  EXPECT_EQ(pool.used(), 0u);
}

TEST(BufferPool, bytesOfNeighboursDoNotMeet) {
  BufferPool pool(64 << 20);
  std::vector<BufferRef> all;
  for (int i = 0; i < 50; ++i) {
    auto b = pool.tryGet(4096u << (i % 8));
    ASSERT_TRUE(b);
    std::memset(b->data(), i, b->capacity());
    all.push_back(b);
  }
  for (int i = 0; i < 50; ++i)
    for (size_t k = 0; k < all[i]->capacity(); k += 1021) ASSERT_EQ(static_cast<int>(all[i]->data()[k]), i);
}

}  // namespace
}  // namespace aquifer::chunk
