// What `why` tells: the mount's answer (docs/formats of the control channel: command 20001) in plain words. Functions without state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace aquifer::cli {

using StageMicros = std::map<std::string, int64_t>;   // "network" -> microseconds

struct WhyReport {
  int64_t seconds = 60;
  bool complete = false;        // the sums are of all operations, not only of the slowest
  uint64_t operations = 0;
  int64_t micros = 0;
  StageMicros stages;
  struct Row {
    std::string op, arguments, path;
    uint64_t inode = 0;
    uint32_t uid = 0, pid = 0;
    int64_t agoMs = 0, micros = 0;
    StageMicros stages;
  };
  std::vector<Row> slowest;
};
Result<WhyReport> parseWhyReply(const std::string& json);

// "object storage 1.2 s (93%), metadata 80 ms (6%)"; parts below one percent are left out.
std::string stagesText(const StageMicros& stages, int64_t total);
// The stage with the most time; empty where there is no time at all.
std::string heaviestStage(const StageMicros& stages);
// The whole text about `path`.
std::string whyText(const WhyReport& report, const std::string& path, size_t most);

}  // namespace aquifer::cli
