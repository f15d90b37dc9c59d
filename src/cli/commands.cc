// The list of commands: one line each.
#include "cli/commands.h"

#include "cli/command.h"

namespace aquifer::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      // ADMIN
      formatCommand(),
      configCommand(),
      quotaCommand(),
      destroyCommand(),
      gcCommand(),
      fsckCommand(),
      dumpCommand(),
      loadCommand(),
      restoreCommand(),
      versionCommand(),
      // INSPECTOR
      statusCommand(),
      statsCommand(),
      profileCommand(),
      infoCommand(),
      summaryCommand(),
      debugCommand(),
      whyCommand(),
      // SERVICE
      mountCommand(),
      umountCommand(),
      // TOOL
      benchCommand(),
      objbenchCommand(),
      mdtestCommand(),
      warmupCommand(),
      rmrCommand(),
      cloneCommand(),
      compactCommand(),
  };
  return all;
}

const Command* findCommand(std::string_view name) {
  for (auto& c : commands())
    if (c.name == name) return &c;
  return nullptr;
}

}  // namespace aquifer::cli
