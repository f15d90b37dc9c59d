#include "chunk/cache/hash_ring.h"

#include <gtest/gtest.h>

#include <numeric>

namespace aquifer::chunk {
namespace {

TEST(HashRing, hashesHaveTheirKnownValues) {
  EXPECT_EQ(murmur3(""), 0u);
  EXPECT_EQ(murmur3("test"), 0xba6bd213u);
  EXPECT_EQ(murmur3("Hello, world!"), 0xc0363e43u);
  EXPECT_EQ(murmur3("aaa"), 0xb4471bf8u);
  EXPECT_EQ(murmur3("aa"), 0x5d211726u);
  EXPECT_EQ(murmur3("a"), 0x3c2569b2u);
  EXPECT_EQ(fnv1(""), 0x811c9dc5u);
  EXPECT_EQ(fnv1("a"), 0x050c5d7eu);
  EXPECT_EQ(fnv1("foobar"), 0x31f0b262u);
}

TEST(HashRing, oneDirectoryOwnsEverything) {
  HashRing ring({"a"});
  EXPECT_EQ(ring.points(), std::vector<int>{100});
  EXPECT_EQ(ring.owner("anything"), 0u);
}

TEST(HashRing, sharesAreEvenAfterTheRebalance) {
  HashRing ring({"3f0c8c33-9f6e-4b43-b6b1-94a0a8a16b1f", "b3fa7c11-3ab1-4a63-8f0f-4b6f4f3ac0de", "00000000-0000-4000-8000-000000000000"});
  std::vector<int> count(3, 0);
  for (int i = 0; i < 30'000; ++i) ++count[ring.owner("chunks/0/" + std::to_string(i / 1000) + "/" + std::to_string(i) + "_0_4194304")];
  for (int c : count) EXPECT_NEAR(c, 10'000, 2'000);
}

}  // namespace
}  // namespace aquifer::chunk
