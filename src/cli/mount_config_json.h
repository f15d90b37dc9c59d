// The text of `.config`: what tools of JuiceFS read about a mount. Secrets read `removed`. Pure.
#pragma once

#include <string>

#include "chunk/block_store.h"
#include "cli/mount_plan.h"

namespace aquifer::cli {

struct ConfigFacts {
  uint64_t sid = 0;
  int pid = 0, ppid = 0;  // worker, supervisor
  std::string commPath, statePath;
  std::string metricsAddress, debugAddress;
  std::string cacheDirs;  // with UUID, joined by ':'
};
std::string mountConfigJson(const Args& args, const MountPlan& plan, const meta::Format& format, const chunk::BlockConfig& blocks,
                            const ConfigFacts& facts);

}  // namespace aquifer::cli
