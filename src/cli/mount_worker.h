// The process that serves a mount. Started by a supervisor with JFS_SUPERVISOR set.
#pragma once

#include "cli/options.h"

namespace aquifer::cli {

int runMountWorker(const Args& args);

}  // namespace aquifer::cli
