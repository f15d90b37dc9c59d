#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace aquifer {
namespace {

class Zone {
 public:
  explicit Zone(const char* name) {
    if (const char* now = getenv("TZ")) before_ = now;
    setenv("TZ", name, 1);
    tzset();
  }
  ~Zone() {
    if (before_.empty())
      unsetenv("TZ");
    else
      setenv("TZ", before_.c_str(), 1);
    tzset();
  }

 private:
  std::string before_;
};

constexpr int64_t kSecond = 1'000'000'000;

TEST(Clock, Rfc3339) {
  {
    Zone zone("UTC0");
    EXPECT_EQ(rfc3339(0, true), "1970-01-01T00:00:00Z");
    EXPECT_EQ(rfc3339(1'764'550'953 * kSecond + 120'000'000, true), "2025-12-01T01:02:33.12Z");
    EXPECT_EQ(rfc3339(1'764'550'953 * kSecond + 1, true), "2025-12-01T01:02:33.000000001Z");
    EXPECT_EQ(rfc3339(1'764'550'953 * kSecond + 1, false), "2025-12-01T01:02:33Z");
    EXPECT_EQ(rfc3339(-1, true), "1969-12-31T23:59:59.999999999Z");
  }
  {
    Zone zone("CST-8");
    EXPECT_EQ(rfc3339(1'764'550'953 * kSecond, false), "2025-12-01T09:02:33+08:00");
  }
  {
    Zone zone("NST3:30");
    EXPECT_EQ(rfc3339(0, false), "1969-12-31T20:30:00-03:30");
  }
}

TEST(Clock, HourNames) {
  EXPECT_EQ(hourNameUtc(1'764'550'953), "2025-12-01-01");
  int64_t seconds = 0;
  ASSERT_TRUE(parseHourNameUtc("2025-12-01-01", &seconds));
  EXPECT_EQ(seconds, 1'764'550'953 / 3600 * 3600);
  for (const char* bad : {"", "2025-12-01", "2025-12-01-24", "2025-02-30-01", "2025-13-01-01", "2025-12-01-1", "2025-12-01-0a",
                          "2025/12/01-01", "2025-12-01-011"}) {
    EXPECT_FALSE(parseHourNameUtc(bad, &seconds)) << bad;
  }
}

TEST(Clock, MovesOn) {
  const int64_t before = monotonicNanos();
  sleepMs(2);
  EXPECT_GE(monotonicNanos() - before, 2'000'000);
  sleepMs(0);
  sleepMs(-5);
  EXPECT_GT(unixSeconds(), 1'700'000'000);
}

}  // namespace
}  // namespace aquifer
