#include "cli/mount_helper_args.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "cli/command.h"

namespace aquifer::cli {

namespace {

constexpr std::array<std::string_view, 6> kDropped{"_netdev", "nofail", "rw", "defaults", "remount", "background"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLegacy{
    {{"attrcacheto", "attr-cache"}, {"entrycacheto", "entry-cache"}, {"direntrycacheto", "dir-entry-cache"}}};

const Option* byName(const std::string& name) {
  if (name.size() < 2) return nullptr;   // one letter could be anything to FUSE
  bool takesNext = false;
  auto* mount = findCommand("mount");
  auto* option = mount ? findOption(mount->groups, "--" + name, &takesNext) : nullptr;
  return option ? option : findOption(globalOptions(), "--" + name, &takesNext);
}

}  // namespace

Result<std::vector<std::string>> mountHelperArgs(const std::vector<std::string>& words) {
  ::setenv("CALL_VIA_MOUNT", "1", 1);
  if (words.size() < 2) return std::vector<std::string>();
  std::vector<std::string> out{"mount", "-d"}, fuse;
  for (size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i] != "-o") continue;
    const std::string& list = words[++i];
    for (size_t from = 0; from <= list.size();) {
      auto comma = std::min(list.find(',', from), list.size());
      auto word = list.substr(from, comma - from);
      from = comma + 1;
      auto eq = word.find('=');
      auto name = word.substr(0, eq);
      if (word.empty() || std::find(kDropped.begin(), kDropped.end(), word) != kDropped.end()) continue;
      for (auto& [legacy, now] : kLegacy)
        if (name == legacy) name = now;
      auto* option = byName(name);
      if (!option) {
        fuse.push_back(word);
      } else if (eq != std::string::npos) {
        out.push_back("--" + name + word.substr(eq));
      } else if (option->type == OptionType::flag) {
        out.push_back("--" + name);
        if (name == "debug") fuse.push_back(name);
      } else {
        return Status(Code::config, "option " + name + " requires a value");
      }
    }
  }
  if (!fuse.empty()) {
    std::string joined;
    for (auto& f : fuse) joined += (joined.empty() ? "" : ",") + f;
    out.insert(out.end(), {"-o", joined});
  }
  out.insert(out.end(), {words[0], words[1]});
  return out;
}

}  // namespace aquifer::cli
