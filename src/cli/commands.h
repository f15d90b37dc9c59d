// What each command's file offers to the list.
#pragma once

namespace aquifer::cli {
struct Command;
Command versionCommand();
}  // namespace aquifer::cli
