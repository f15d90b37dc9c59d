#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace aquifer {
namespace {

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("", 0), 0u);
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32cPortable("123456789", 9), 0xe3069283u);
  const std::string zeros(32, '\0'), ones(32, '\xff');
  EXPECT_EQ(crc32c(zeros.data(), 32), 0x8a9136aau);
  EXPECT_EQ(crc32c(ones.data(), 32), 0x62a8ab43u);
}

// Lengths around every border between the lanes, at odd addresses.
TEST(Crc32c, BothFormsAgree) {
  std::string bytes(100'000, '\0');
  randomBytes(bytes.data(), bytes.size());
  for (size_t size : {0,    1,    7,    8,     9,     63,    64,    191,   192,   193,   199,   1535,
                      1536, 1537, 1728, 12287, 12288, 12289, 13824, 24576, 32768, 65536, 99'990}) {
    for (size_t at : {0, 1, 3, 8}) {
      ASSERT_EQ(crc32c(bytes.data() + at, size), crc32cPortable(bytes.data() + at, size)) << size << " at " << at;
      ASSERT_EQ(crc32c(bytes.data() + at, size, 12345), crc32cPortable(bytes.data() + at, size, 12345)) << size << " at " << at;
    }
  }
}

TEST(Crc32c, ContinuesAndCombines) {
  std::string bytes(50'000, '\0');
  randomBytes(bytes.data(), bytes.size());
  const uint32_t whole = crc32c(bytes.data(), bytes.size());
  for (size_t cut : {0, 1, 8, 100, 12288, 32768, 49'999, 50'000}) {
    const uint32_t a = crc32c(bytes.data(), cut), b = crc32c(bytes.data() + cut, bytes.size() - cut);
    EXPECT_EQ(crc32c(bytes.data() + cut, bytes.size() - cut, a), whole);
    EXPECT_EQ(crc32cCombine(a, b, bytes.size() - cut), whole);
  }
}

}  // namespace
}  // namespace aquifer
