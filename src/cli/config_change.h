// What the flags of `config` do to a setting. Pure but for files that flags name.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/options.h"
#include "meta/model/format.h"

namespace aquifer::cli {

struct ConfigChange {
  std::vector<std::string> lines;   // "  capacity: 0 B -> 10 GiB": what is printed, in order of the flags' names
  bool storage = false;             // another place or other keys: probe it first
  bool limits = false, trash = false, clientVersions = false;
  bool encrypt = false;             // --encrypt-secret
  bool replacesTier = false;        // a tier other than 0 that was defined before
};

bool anyChangeAsked(const Args& args);
// Code::config: a value that is refused, with the reason. Bad sizes and rates end the program as everywhere.
Result<ConfigChange> applyConfigFlags(meta::Format& format, const Args& args);

}  // namespace aquifer::cli
