#include "access/fuse/read_ahead.h"

#include <fstream>
#include <sstream>

namespace aquifer::fuse {

// Spaces, tabs, newlines and backslashes stand as octal escapes there.
static std::string unescaped(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    const bool escape = s[i] == '\\' && i + 3 < s.size() && s[i + 1] >= '0' && s[i + 1] <= '3';
    if (!escape) {
      out += s[i];
      continue;
    }
    out += static_cast<char>((s[i + 1] - '0') * 64 + (s[i + 2] - '0') * 8 + (s[i + 3] - '0'));
    i += 3;
  }
  return out;
}

std::string mountDevice(const std::string& mountinfo, const std::string& mountPoint) {
  std::istringstream lines(mountinfo);
  std::string device;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, dev, root, target;
    if (words >> id >> parent >> dev >> root >> target && unescaped(target) == mountPoint) device = dev;
  }
  return device;
}

void setReadAhead(const std::string& mountPoint, uint32_t bytes) {
  std::ifstream in("/proc/self/mountinfo");
  std::stringstream text;
  text << in.rdbuf();
  const std::string device = mountDevice(text.str(), mountPoint);
  if (device.empty()) return;
  const std::string path = "/sys/class/bdi/" + device + "/read_ahead_kb";
  uint32_t now = 0;
  if (std::ifstream old(path); !(old >> now) || now >= bytes / 1024) return;
  std::ofstream(path) << bytes / 1024;
}

}  // namespace aquifer::fuse
