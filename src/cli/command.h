// One command of the program: a table entry and a function. One file per command; commands.cc has a line for each.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace aquifer::cli {

struct Subcommand {
  std::string names;      // "delete,del"
  std::string summary;
};

struct Command {
  std::string name;
  std::string category;   // ADMIN, INSPECTOR, SERVICE, TOOL; empty: left out of the list
  std::string summary;
  std::string arguments;  // "META-URL NAME"
  std::string description;
  std::vector<OptionGroup> groups;
  size_t minArgs = 0;
  size_t maxArgs = SIZE_MAX;
  int (*run)(const Args&) = nullptr;   // the exit code
  std::vector<Subcommand> subcommands;  // not empty: the first positional is one of these (Args::subcommand, its main name)
  bool hidden = false;
};

// All commands in the order of the help. Built once; thread-safe.
const std::vector<Command>& commands();
const Command* findCommand(std::string_view name);

// Options that stand for every command: --verbose, --quiet, --trace, --log-level, --log-id, --no-agent, ...
const std::vector<OptionGroup>& globalOptions();

std::string globalHelp();
std::string commandHelp(const Command& command);

}  // namespace aquifer::cli
