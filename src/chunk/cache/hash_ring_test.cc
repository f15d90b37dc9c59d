#include "chunk/cache/hash_ring.h"

#include <gtest/gtest.h>

#include <numeric>

namespace aquifer::chunk {
namespace {

TEST(HashRing, hashesHaveTheirKnownValues) {
  EXPECT_EQ(murmur3(""), 0u);
  EXPECT_EQ(murmur3("test"), 0xba6bd213u);
  EXPECT_EQ(murmur3("Hello, world!"), 0xc0363e43u);
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

TEST(HashRing, pointsAfterTheRebalanceAsOtherClientsHaveThem) {
  // From directories of another client, whose blocks (5449 to 5740 a pair) all lay where these counts put them.
  EXPECT_EQ(HashRing({"ce0a6b58-aa8e-45ee-8ccf-d542c9365a18", "f6ce4567-90fe-4436-bcf1-ad04dd14f5ad"}).points(), (std::vector<int>{100, 97}));
  EXPECT_EQ(HashRing({"359e5ace-fba9-441a-ae9c-adad6f312e3e", "fa36738e-137b-49c2-8f3e-d9c4f05e04be"}).points(), (std::vector<int>{109, 92}));
  EXPECT_EQ(HashRing({"35edf8fc-0575-4b2c-8a49-89d617215def", "c136d258-1b31-4277-92d8-497d85707cd1"}).points(), (std::vector<int>{99, 100}));
  HashRing ring({"0672de34-9f78-44b1-af52-d62fcf489b27", "22d04d92-c8a6-4b93-83a3-cd5a2af621e5"});
  EXPECT_EQ(ring.points(), (std::vector<int>{96, 100}));
  EXPECT_EQ(ring.owner("chunks/0/0/1_28_65536"), 0u);
  EXPECT_EQ(ring.owner("chunks/0/0/27_0_5"), 0u);
  EXPECT_EQ(ring.owner("chunks/0/0/1_261_65536"), 1u);
  EXPECT_EQ(ring.owner("chunks/0/0/114_0_6"), 1u);
  EXPECT_EQ(ring.owner("chunks/0/0/1_3_65536"), 1u);
  EXPECT_EQ(ring.owner("chunks/0/0/193_0_6"), 1u);
  EXPECT_EQ(ring.owner("chunks/0/13/13136_0_32"), 0u);
  EXPECT_EQ(ring.owner("chunks/0/13/13069_0_13"), 0u);
  EXPECT_EQ(ring.owner("chunks/0/0/1_279_65536"), 1u);
  EXPECT_EQ(ring.owner("chunks/0/12/12964_0_23"), 1u);
}

TEST(HashRing, sharesAreEvenAfterTheRebalance) {
  HashRing ring({"3f0c8c33-9f6e-4b43-b6b1-94a0a8a16b1f", "b3fa7c11-3ab1-4a63-8f0f-4b6f4f3ac0de", "00000000-0000-4000-8000-000000000000"});
  std::vector<int> count(3, 0);
  for (int i = 0; i < 30'000; ++i) ++count[ring.owner("chunks/0/" + std::to_string(i / 1000) + "/" + std::to_string(i) + "_0_4194304")];
  for (int c : count) EXPECT_NEAR(c, 10'000, 2'000);
}

}  // namespace
}  // namespace aquifer::chunk
