// The figures of a live mount, ours or the original's, as its `.stats` file shows them. Functions without state.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::cli {

using MountStats = std::map<std::string, double, std::less<>>;   // "juicefs_uptime" -> 1.5

// Lines of `name value`; what is no such line is skipped. A name that comes twice counts as one, added up.
MountStats parseStats(std::string_view text);
// Of the mount whose root is `root`. At most 16 MiB are read.
Result<MountStats> readMountStats(const std::string& root);
double statOf(const MountStats& stats, std::string_view name);   // 0 where there is none

}  // namespace aquifer::cli
