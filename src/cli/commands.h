// What each command's file offers to the list.
#pragma once

namespace aquifer::cli {
struct Command;
Command benchCommand();
Command cloneCommand();
Command compactCommand();
Command configCommand();
Command debugCommand();
Command destroyCommand();
Command dumpCommand();
Command formatCommand();
Command fsckCommand();
Command gcCommand();
Command infoCommand();
Command loadCommand();
Command mdtestCommand();
Command mountCommand();
Command objbenchCommand();
Command profileCommand();
Command quotaCommand();
Command restoreCommand();
Command rmrCommand();
Command statsCommand();
Command statusCommand();
Command summaryCommand();
Command umountCommand();
Command versionCommand();
Command warmupCommand();
Command whyCommand();
}  // namespace aquifer::cli
