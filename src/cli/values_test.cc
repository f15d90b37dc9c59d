#include "cli/values.h"

#include <gtest/gtest.h>

namespace aquifer::cli {
namespace {

TEST(Values, SizesTakeOneLetterAndFractions) {
  EXPECT_EQ(*parseSize("", 'M', "x"), 0u);
  EXPECT_EQ(*parseSize("300", 'M', "x"), 300u << 20);
  EXPECT_EQ(*parseSize("1.5T", 'M', "x"), 1536ull << 30);
  EXPECT_EQ(*parseSize("4k", 'B', "x"), 4096u);
  EXPECT_EQ(*parseSize("7B", 'G', "x"), 7u);
  EXPECT_EQ(*parseSize("15E", 'B', "x"), 15ull << 60);
}

TEST(Values, BadSizesNameValueAndOption) {
  EXPECT_EQ(parseSize("4X", 'K', "block-size").status().text(), "Invalid value \"4X\" for \"block-size\": invalid unit");
  EXPECT_EQ(parseSize("4MiB", 'K', "b").status().code(), Code::config);
  for (auto bad : {"4MB", "M", "-1", "-1G", "16E", "99999E", "nan", "infM", "1 G", "0x"}) EXPECT_FALSE(parseSize(bad, 'B', "x")) << bad;
}

TEST(Values, Durations) {
  constexpr int64_t second = 1'000'000'000;
  EXPECT_EQ(*parseDuration(""), 0);
  EXPECT_EQ(*parseDuration("30"), 30 * second);
  EXPECT_EQ(*parseDuration("0.5"), second / 2);
  EXPECT_EQ(*parseDuration("1d2h"), (86400 + 7200) * second);
  EXPECT_EQ(*parseDuration("500ms"), second / 2);
  EXPECT_EQ(*parseDuration("1h30m1.5s"), 5401 * second + second / 2);
  for (auto bad : {"1x", "h", "1h2", "2h1d", "1e300s", "99999999999h"}) EXPECT_FALSE(parseDuration(bad)) << bad;
  EXPECT_FALSE(parseUnitDuration("30"));
  EXPECT_FALSE(parseUnitDuration(""));
  EXPECT_FALSE(parseUnitDuration("1d"));
  EXPECT_EQ(*parseUnitDuration("0"), 0);
  EXPECT_EQ(*parseUnitDuration("-2h"), -7200 * second);
}

TEST(Values, Rates) {
  EXPECT_EQ(*parseRate("500", "x"), 500);
  EXPECT_EQ(*parseRate("1.5G", "x"), 1500);
  EXPECT_EQ(*parseRate("2t", "x"), 2'000'000);
  EXPECT_EQ(*parseRate("", "x"), 0);
  EXPECT_EQ(parseRate("5X", "upload-limit").status().text(), "Invalid value \"5X\" for \"upload-limit\"");
  EXPECT_FALSE(parseRate("5K", "x"));
  EXPECT_FALSE(parseRate("-5", "x"));
}

TEST(Values, Hours) {
  EXPECT_EQ(*parseHours("1,5"), (std::pair<int, int>(1, 5)));
  EXPECT_EQ(*parseHours("22-3"), (std::pair<int, int>(22, 3)));
  EXPECT_EQ(*parseHours(""), (std::pair<int, int>(0, 0)));
  for (auto bad : {"5", "a,b", "1,24", "-1,3", "1,2,3"}) EXPECT_FALSE(parseHours(bad)) << bad;
}

TEST(Values, NumbersHaveBases) {
  int64_t i;
  uint64_t u;
  EXPECT_EQ(parseInteger("-0x10", &i), NumberError::none);
  EXPECT_EQ(i, -16);
  EXPECT_EQ(parseUnsigned("0b101", &u), NumberError::none);
  EXPECT_EQ(u, 5u);
  EXPECT_EQ(parseUnsigned("017", &u), NumberError::none);
  EXPECT_EQ(u, 15u);
  EXPECT_EQ(parseUnsigned("0x_ff", &u), NumberError::none);
  EXPECT_EQ(u, 255u);
  EXPECT_EQ(parseUnsigned("18446744073709551615", &u), NumberError::none);
  EXPECT_EQ(parseUnsigned("18446744073709551616", &u), NumberError::range);
  EXPECT_EQ(parseInteger("9223372036854775808", &i), NumberError::range);
  EXPECT_EQ(parseInteger("-9223372036854775808", &i), NumberError::none);
  EXPECT_EQ(i, INT64_MIN);
  for (auto bad : {"", "-", "1e3", "0x", "09", "1_0", "1 ", "abc"}) EXPECT_EQ(parseInteger(bad, &i), NumberError::syntax) << bad;
}

TEST(Values, Texts) {
  EXPECT_EQ(shortSize(0), "0 B");
  EXPECT_EQ(shortSize(9), "9 B");
  EXPECT_EQ(shortSize(1023), "1023 B");
  EXPECT_EQ(shortSize(1024), "1.0 KiB");
  EXPECT_EQ(shortSize(16384), "16 KiB");
  EXPECT_EQ(shortSize(1ull << 30), "1.0 GiB");
  EXPECT_EQ(shortSize(21819392), "21 MiB");
  EXPECT_EQ(shortSize(UINT64_MAX), "16 EiB");
  EXPECT_EQ(longSize(3), "3 Bytes");
  EXPECT_EQ(longSize(9437184), "9.00 MiB (9437184 Bytes)");
  EXPECT_EQ(longSize(UINT64_MAX), "16.00 EiB (18446744073709551615 Bytes)");
  EXPECT_EQ(withThousands(1000000), "1,000,000");
  EXPECT_EQ(withThousands(999), "999");
  EXPECT_EQ(withThousands(-1234), "-1,234");
  EXPECT_EQ(rateText(500), "500.0 Mbps");
  EXPECT_EQ(rateText(1500), "1.5 Gbps");
  EXPECT_EQ(durationText(0), "0s");
  EXPECT_EQ(durationText(7200'000'000'000), "2h0m0s");
  EXPECT_EQ(durationText(1'500'000'000), "1.5s");
  EXPECT_EQ(durationText(300'000'000), "300ms");
  EXPECT_EQ(durationText(61'000'000'000), "1m1s");
  EXPECT_EQ(quoted("a\"b\\\n\x01"), "\"a\\\"b\\\\\\n\\x01\"");
}

}  // namespace
}  // namespace aquifer::cli
