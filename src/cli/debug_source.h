// Where `debug` takes its material from. Functions without state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace aquifer::cli {

// What a mount's `.config` says about the process behind it.
struct MountFacts {
  int64_t pid = 0;
  std::string debugAddress;   // "127.0.0.1:6060"; empty: none
  std::string config;         // pretty JSON, secrets replaced by "removed"
};
Result<MountFacts> parseMountConfig(const std::string& json);

// The words of a process's command line, passwords in addresses hidden.
std::vector<std::string> commandLine(int64_t pid);
// The log of a mount in the background; empty for one in the foreground.
std::string logFileOf(const std::vector<std::string>& words);
// The last `lines` lines of a file, at most 64 MiB.
Result<std::string> tailOf(const std::string& path, uint64_t lines);
// GET of a page on this machine; anything but 200 is an error. Waits at most `seconds` for each part.
Result<std::string> httpGet(const std::string& address, const std::string& target, int64_t seconds);
// "Platform: … Kernel: … OS: …"
std::string systemInfo();

}  // namespace aquifer::cli
