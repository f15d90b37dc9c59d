// What each command's file offers to the list.
#pragma once

namespace aquifer::cli {
struct Command;
Command configCommand();
Command formatCommand();
Command fsckCommand();
Command gcCommand();
Command statusCommand();
Command versionCommand();
}  // namespace aquifer::cli
