#include "cli/backup_rotation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace aquifer::cli {
namespace {

constexpr int64_t kNow = 1'796'131'511, kHour = 3600, kDay = 24 * kHour;   // 2026-12-01 13:25:11

TEST(BackupRotation, NamesAndTimes) {
  EXPECT_EQ(backupName(kNow), "dump-2026-12-01-132511.json.gz");
  EXPECT_EQ(backupTime("dump-2026-12-01-132511.json.gz"), kNow);
  for (const char* other : {"dump-2026-12-01-132511.json", "dump-2026-13-01-132511.json.gz", "dump-2026-12-01-132511.json.gx", "",
                            "dump-2026-02-30-132511.json.gz", "mine-2026-12-01-132511.json.gz"})
    EXPECT_FALSE(backupTime(other)) << other;
}

// A backup an hour for three years, the rotation run after each: what is left at the end.
TEST(BackupRotation, YearsOfHourlyBackups) {
  std::set<std::string> kept;
  for (int64_t now = kNow - 3 * 365 * kDay; now <= kNow; now += kHour) {
    kept.insert(backupName(now));
    for (auto& name : expiredBackups({kept.begin(), kept.end()}, now)) kept.erase(name);
  }
  const auto between = [&](int64_t from, int64_t to) {   // ages in days
    return std::count_if(kept.begin(), kept.end(), [&](const std::string& n) {
      const int64_t age = kNow - *backupTime(n);
      return age >= from * kDay && age < to * kDay;
    });
  };
  EXPECT_EQ(between(0, 2), 48);
  EXPECT_NEAR(between(2, 14), 12, 1);
  EXPECT_NEAR(between(14, 60), 46 / 7, 1);
  EXPECT_NEAR(between(60, 730), 670 / 30, 1);
  EXPECT_EQ(between(730, 10'000), 0);
}

TEST(BackupRotation, OtherNamesAndTheNewestStay) {
  EXPECT_TRUE(expiredBackups({backupName(kNow - 900 * kDay), "mine.json.gz"}, kNow).empty());
  const auto gone = expiredBackups({backupName(kNow - 900 * kDay), backupName(kNow - 800 * kDay), "dump-2020.json.gz"}, kNow);
  EXPECT_EQ(gone, std::vector<std::string>{backupName(kNow - 900 * kDay)});
}

}  // namespace
}  // namespace aquifer::cli
