// The fields of /proc/PID/stat that somebody asks for. Source: proc(5). A function without state.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <string>

#include "base/text_file.h"

namespace aquifer {

struct ProcStat {
  char state = 0;     // R, S, D, Z …
  pid_t parent = 0;
};

// folder: "/proc/12" or "/proc/self/task/13". nullopt: there is no such process or thread (any more).
inline std::optional<ProcStat> procStat(const std::string& folder) {
  const std::string text = fileText(folder + "/stat");
  const size_t close = text.rfind(')');   // the name before it may hold anything
  ProcStat stat;
  if (close == std::string::npos || std::sscanf(text.c_str() + close + 1, " %c %d", &stat.state, &stat.parent) != 2) return std::nullopt;
  return stat;
}

}  // namespace aquifer
