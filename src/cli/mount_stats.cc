#include "cli/mount_stats.h"

#include "base/text_file.h"
#include "cli/values.h"
#include "cli/virtual_file.h"

namespace aquifer::cli {

MountStats parseStats(std::string_view text) {
  MountStats stats;
  while (!text.empty()) {
    auto end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    auto space = line.find(' ');
    double value = 0;
    if (space == std::string_view::npos || parseReal(line.substr(space + 1), &value) != NumberError::none) continue;
    stats[std::string(line.substr(0, space))] += value;
  }
  return stats;
}

Result<MountStats> readMountStats(const std::string& root) {
  auto path = virtualFile(root, "stats");
  if (path.empty()) return Status(Code::notFound, root + " shows no .stats");
  auto text = readText(path, 16u << 20);
  if (!text) return text.status();
  return parseStats(*text);
}

double statOf(const MountStats& stats, std::string_view name) {
  auto it = stats.find(name);
  return it == stats.end() ? 0 : it->second;
}

}  // namespace aquifer::cli
