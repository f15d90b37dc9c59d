// The command line: argv to exit code. Not re-entrant.
#pragma once

#include <string>
#include <vector>

namespace aquifer::cli {

int run(int argc, char** argv);

// argv as the program was started with, before passwords were masked in the process title: what a re-exec hands on.
const std::vector<std::string>& programArgs();

// Global options that code deeper down asks for.
struct GlobalSettings {
  bool noAgent = false;
  bool quiet = false;      // only warnings and errors are logged
  std::string logId;
};
const GlobalSettings& globalSettings();

}  // namespace aquifer::cli
