#include "chunk/cache/disk_health.h"

#include <gtest/gtest.h>

#include "chunk/cache/staging.h"

namespace aquifer::chunk {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
using State = DiskHealth::State;

TEST(DiskHealth, threeErrorsInAMinuteMakeItUnstable) {
  DiskHealth h(true);
  h.failed(0);
  h.failed(1 * kSecond);
  h.failed(70 * kSecond);   // the first two are forgotten
  h.failed(71 * kSecond);
  EXPECT_TRUE(h.usable());
  h.failed(72 * kSecond);
  EXPECT_EQ(h.state(), State::unstable);
}

TEST(DiskHealth, aMinuteOfGoodProbesBringsItBack) {
  DiskHealth h(true);
  for (int i = 0; i < 3; ++i) h.failed(i);
  for (int i = 1; i <= 119; ++i) {
    h.probed(true, i * kSecond / 2);
    ASSERT_EQ(h.state(), State::unstable) << i;
  }
  h.probed(true, 61 * kSecond);
  EXPECT_TRUE(h.usable());
}

TEST(DiskHealth, halfAnHourOfBadProbesTakesItDownForGood) {
  DiskHealth h(true);
  for (int i = 0; i < 3; ++i) h.failed(i);
  for (int64_t t = 1; t < 1800; ++t) h.probed(t % 50 != 0, t * kSecond);
  EXPECT_EQ(h.state(), State::unstable);
  h.probed(false, 1801 * kSecond);
  EXPECT_EQ(h.state(), State::down);
  for (int64_t t = 0; t < 200; ++t) h.probed(true, (1802 + t) * kSecond);
  EXPECT_EQ(h.state(), State::down);
}

TEST(DiskHealth, writeBackDoesNotGiveUpItsDisk) {
  DiskHealth h(false);
  for (int i = 0; i < 100; ++i) h.failed(i);
  EXPECT_TRUE(h.usable());
}

TEST(UploadHours, windows) {
  EXPECT_TRUE(hourAllowed(5, 0, 0));
  EXPECT_TRUE(hourAllowed(2, 2, 5));
  EXPECT_FALSE(hourAllowed(5, 2, 5));
  EXPECT_TRUE(hourAllowed(23, 22, 4));
  EXPECT_TRUE(hourAllowed(3, 22, 4));
  EXPECT_FALSE(hourAllowed(4, 22, 4));
  EXPECT_FALSE(hourAllowed(12, 22, 4));
}

}  // namespace
}  // namespace aquifer::chunk
