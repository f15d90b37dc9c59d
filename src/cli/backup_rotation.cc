#include "cli/backup_rotation.h"

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "base/clock.h"

namespace aquifer::cli {
namespace {

constexpr char kFormat[] = "dump-%Y-%m-%d-%H%M%S.json.gz";
constexpr size_t kLength = 30;
constexpr int64_t kDay = 86'400;

// Of a tier [.., until) of ages one backup a `period` stays; period 0: all.
struct Tier {
  int64_t until, period;
};
constexpr Tier kTiers[] = {{2 * kDay, 0}, {14 * kDay, kDay}, {60 * kDay, 7 * kDay}, {730 * kDay, 30 * kDay}};

}  // namespace

std::string backupName(int64_t unixSeconds) { return utcTimeText(unixSeconds, kFormat); }

std::optional<int64_t> backupTime(const std::string& name) {
  tm utc{};
  if (name.size() != kLength) return std::nullopt;
  const char* end = strptime(name.c_str(), kFormat, &utc);
  if (!end || *end) return std::nullopt;
  const int64_t at = timegm(&utc);
  return backupName(at) == name ? std::optional(at) : std::nullopt;
}

std::vector<std::string> expiredBackups(std::vector<std::string> names, int64_t now) {
  std::erase_if(names, [](const std::string& n) { return !backupTime(n); });
  std::sort(names.begin(), names.end());   // by time: the earliest of a period comes first
  std::vector<std::string> gone;
  std::set<std::pair<int64_t, int64_t>> kept;   // tier by its period, number of the period
  for (const std::string& name : names) {
    const int64_t at = *backupTime(name), age = now - at;
    const auto* tier = std::find_if(std::begin(kTiers), std::end(kTiers), [&](const Tier& t) { return age < t.until; });
    if (tier != std::end(kTiers) && (tier->period == 0 || kept.insert({tier->period, at / tier->period}).second)) continue;
    if (name != names.back()) gone.push_back(name);
  }
  return gone;
}

}  // namespace aquifer::cli
