// Lines of a mount's access log, and their sums by operation. Plain values; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace aquifer::cli {

struct AccessLine {
  int64_t unixMicros = 0;   // of the local date and time in the line, read as UTC: only differences mean something
  uint32_t uid = 0, gid = 0, pid = 0;
  std::string op;
  int64_t tookMicros = 0;
};
// Nothing for a line of another shape ("#", the marks of an idle log, among them).
std::optional<AccessLine> parseAccessLine(std::string_view line);

struct AccessFilter {
  std::set<uint32_t> uids, gids, pids;   // empty: all
  bool takes(const AccessLine& line) const;
};
// "1,2,x" -> {1, 2}; words that are no number are in `bad`.
std::set<uint32_t> parseIds(std::string_view text, std::vector<std::string>* bad);

class ProfileTable {
 public:
  void add(const AccessLine& line);
  void clear() { sums_.clear(); }
  // Heading and rows, largest total first. `state`: "(replaying)" or ""; `when`: shown as it is; percent is of `seconds`.
  std::string render(const std::string& state, double seconds, const std::string& when) const;

 private:
  struct Sum {
    uint64_t count = 0;
    int64_t micros = 0;
  };
  std::map<std::string, Sum> sums_;
};
// "2026-01-31T10:20:30" of microseconds as AccessLine has them.
std::string logTimeText(int64_t unixMicros);

}  // namespace aquifer::cli
