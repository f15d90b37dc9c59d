#include "cli/mount_stats.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cli/errno_text.h"
#include "cli/values.h"

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

std::string virtualFile(const std::string& root, const std::string& name) {
  for (const char* prefix : {"/.", "/.jfs."}) {
    auto path = root + prefix + name;
    struct stat st;
    if (::stat(path.c_str(), &st) == 0) return path;
  }
  return {};
}

Result<std::string> readText(const std::string& path, size_t limit) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status(Code(errno), "open " + path + ": " + errnoText(errno));
  std::string text;
  char buffer[65536];
  ssize_t n = 0;
  while (text.size() < limit && (n = ::read(fd, buffer, sizeof buffer)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  int error = n < 0 ? errno : 0;
  ::close(fd);
  if (error) return Status(Code(error), "read " + path + ": " + errnoText(error));
  if (text.size() > limit) text.resize(limit);
  return text;
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
