#include <fmt/core.h>

#include <cstdio>

#include "base/version.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace aquifer::cli {

Command versionCommand() {
  return {"version", "ADMIN", "Show the version", "", "", {}, 0, SIZE_MAX, [](const Args&) {
            std::fputs(fmt::format("juicefs version {}\n", kVersion).c_str(), stdout);
            return 0;
          }};
}

}  // namespace aquifer::cli
