// Which automatic backups of the metadata are kept: all of two days, one a day for two weeks, one a week for two months, one a month
// for two years; of each period the earliest. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aquifer::cli {

// dump-YYYY-MM-DD-HHMMSS.json.gz, UTC.
std::string backupName(int64_t unixSeconds);
// nullopt: not such a name.
std::optional<int64_t> backupTime(const std::string& name);
// Those of `names` that may go; other names, and the newest backup, never do.
std::vector<std::string> expiredBackups(std::vector<std::string> names, int64_t now);

}  // namespace aquifer::cli
