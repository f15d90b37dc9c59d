#include "base/control_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "base/proc_stat.h"
#include "base/text_file.h"

namespace aquifer {

namespace {

constexpr uint64_t kNoLimit = 1ull << 60;   // version 1 writes "no limit" as the largest number of whole pages

std::optional<uint64_t> fileNumber(const std::string& path) {
  const std::string text = fileText(path);
  uint64_t n = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), n).ec != std::errc()) return std::nullopt;
  return n;
}

bool hasWord(std::string_view list, std::string_view word) {
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// "4:memory:/a/b": the path of the memory controller in version 1, else that of version 2.
struct OwnPath {
  int version = 0;
  std::string path;
};
OwnPath ownPath(const std::string& text) {
  OwnPath found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (hasWord(controllers, "memory")) return {1, line.substr(second + 1)};
    if (controllers.empty() && line.starts_with("0:")) found = {2, line.substr(second + 1)};
  }
  return found;
}

// Where the hierarchy is mounted, and which of its folders that mount shows.
struct Mounted {
  std::string root, point;
};
std::optional<Mounted> mountOf(int version, const std::string& mountinfo) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
    std::string id, parent, device, type, source, options;
    Mounted m;
    left >> id >> parent >> device >> m.root >> m.point;
    right >> type >> source >> options;
    if (version == 2 ? type == "cgroup2" : type == "cgroup" && hasWord(options, "memory")) return m;
  }
  return std::nullopt;
}

// `below` descends from `above`.
bool descends(pid_t below, pid_t above) {
  for (int depth = 0; below > 0 && depth < 64; ++depth) {
    if (below == above) return true;
    const auto stat = procStat("/proc/" + std::to_string(below));
    below = stat ? stat->parent : 0;
  }
  return false;
}

}  // namespace

std::optional<ControlGroup> ControlGroup::from(const std::string& cgroupText, const std::string& mountinfoText) {
  const OwnPath own = ownPath(cgroupText);
  if (!own.version) return std::nullopt;
  const auto mounted = mountOf(own.version, mountinfoText);
  if (!mounted) return std::nullopt;
  // In a container the mount may show a lower folder than "/" as its root.
  std::string path = own.path;
  if (mounted->root != "/" && path.starts_with(mounted->root)) path.erase(0, mounted->root.size());
  std::string folder = mounted->point;
  if (path != "/" && !path.empty()) folder += path;
  return ControlGroup(mounted->point, std::move(folder), own.version);
}

std::optional<ControlGroup> ControlGroup::ofThisProcess() {
  auto group = from(fileText("/proc/self/cgroup"), fileText("/proc/self/mountinfo"));
  if (!group) return std::nullopt;
  // The root of version 2 has no account; a path from outside our namespace is not to be found.
  if (access((group->folder_ + (group->version_ == 2 ? "/memory.current" : "/memory.usage_in_bytes")).c_str(), R_OK) != 0) return std::nullopt;
  return group;
}

uint64_t ControlGroup::usage() const {
  return fileNumber(folder_ + (version_ == 2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
}

std::optional<uint64_t> ControlGroup::limit() const {
  std::optional<uint64_t> least;
  for (std::string at = folder_; at.size() >= mount_.size(); at.erase(at.rfind('/'))) {
    const auto n = fileNumber(at + (version_ == 2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (n && *n < kNoLimit) least = std::min(*n, least.value_or(UINT64_MAX));
    if (at.find('/') == std::string::npos) break;
  }
  return least;
}

bool ControlGroup::holdsOnly(pid_t head) const {
  if (folder_ == mount_) {
    // The root of a container's own hierarchy looks like the root of the host's; only the limit tells them apart.
    if (!limit()) return false;
  }
  std::istringstream list(fileText(folder_ + "/cgroup.procs"));
  bool any = false;
  for (pid_t pid = 0; list >> pid;) {
    any = true;
    if (!descends(pid, head)) return false;   // 0: a process that we cannot see
  }
  return any;
}

bool ControlGroup::reclaim(uint64_t bytes) const {
  const std::string path = folder_ + (version_ == 2 ? "/memory.reclaim" : "/memory.force_empty");
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const std::string word = version_ == 2 ? std::to_string(bytes) : "0";
  // Less was to be had than was asked for (EAGAIN, EBUSY): what there was has been taken.
  const ssize_t n = write(fd, word.data(), word.size());
  const bool tried = n >= 0 || errno == EAGAIN || errno == EBUSY;
  close(fd);
  return tried;
}

}  // namespace aquifer
