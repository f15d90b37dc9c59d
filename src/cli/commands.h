// What each command's file offers to the list.
#pragma once

namespace aquifer::cli {
struct Command;
Command cloneCommand();
Command compactCommand();
Command configCommand();
Command destroyCommand();
Command dumpCommand();
Command formatCommand();
Command fsckCommand();
Command gcCommand();
Command infoCommand();
Command loadCommand();
Command mountCommand();
Command quotaCommand();
Command restoreCommand();
Command rmrCommand();
Command statusCommand();
Command summaryCommand();
Command umountCommand();
Command versionCommand();
Command warmupCommand();
}  // namespace aquifer::cli
