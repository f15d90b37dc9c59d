#include "cli/main.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/encode.h"
#include "base/log.h"
#include "base/uuid.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/mount_helper_args.h"
#include "cli/values.h"

namespace aquifer::cli {

namespace {

std::vector<std::string> gArgs;
GlobalSettings gSettings;

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Hides the password of URLs from `ps`: the bytes of argv are what it shows. A word never grows.
void maskTitle(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.find("://") == std::string::npos) continue;
    auto masked = maskUrl(word);
    if (masked == word) continue;
    masked.resize(word.size(), '\0');
    std::memcpy(argv[i], masked.data(), word.size());
  }
}

void setUpLogging(const Args& global) {
  static constexpr std::array<std::pair<const char*, log::Level>, 8> kLevels{{{"trace", log::Level::trace},
                                                                              {"debug", log::Level::debug},
                                                                              {"info", log::Level::info},
                                                                              {"warn", log::Level::warning},
                                                                              {"warning", log::Level::warning},
                                                                              {"error", log::Level::error},
                                                                              {"fatal", log::Level::fatal},
                                                                              {"panic", log::Level::fatal}}};
  auto level = global.flag("trace")     ? log::Level::trace
               : global.flag("verbose") ? log::Level::debug
               : global.flag("quiet")   ? log::Level::warning
                                        : log::Level::info;
  auto wanted = global.text("log-level");
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) { return std::tolower(c); });
  for (auto& [name, value] : kLevels)
    if (wanted == name) level = value;
  log::setLevel(level);
  log::setColor(!global.flag("no-color"));
  gSettings.quiet = level >= log::Level::warning;
  gSettings.noAgent = global.flag("no-agent");
  gSettings.logId = global.text("log-id");
  if (gSettings.logId == "random") gSettings.logId = randomUuid();
  if (!gSettings.logId.empty()) log::setId(gSettings.logId);
}

int usageError(const std::string& message, const char* mark, const std::string& help) {
  print(fmt::format("Incorrect Usage{} {}\n\n{}\n", mark, message, help));
  LOG_FATAL("{}", message);
}

int unknownTopic(const std::string& word) {
  std::fprintf(stderr, "No help topic for '%s'\n", word.c_str());
  return 3;
}

struct Split {
  std::vector<std::string> global, rest;
};
// Global options may stand anywhere in the line.
Split splitGlobals(const std::vector<std::string>& words) {
  Split out;
  for (size_t i = 0; i < words.size(); ++i) {
    bool takesNext = false;
    if (!findOption(globalOptions(), words[i], &takesNext) || words[i] == "-h" || words[i] == "--help") {
      out.rest.push_back(words[i]);
      continue;
    }
    out.global.push_back(words[i]);
    if (!takesNext) continue;
    if (++i >= words.size()) LOG_FATAL("option {} requires value", quoted(words[i - 1]));
    out.global.push_back(words[i]);
  }
  return out;
}

constexpr const char* kCompletion = "--generate-bash-completion";

int runCommand(const Command& command, const std::vector<std::string>& words) {
  auto groups = command.groups;
  groups.push_back({"", {{"help,h", OptionType::flag, "", "", true}}});
  bool completing = std::find(words.begin(), words.end(), kCompletion) != words.end();
  for (size_t i = 0; i < words.size() && !completing; ++i) {
    bool takesNext = false;
    if (findOption(groups, words[i], &takesNext)) i += takesNext;
    else if (words[i].starts_with('-')) LOG_FATAL("unknown option: {}", quoted(words[i]));
  }
  if (completing) {
    for (auto& sub : command.subcommands)
      for (auto& name : Option{sub.names}.nameList()) print(name + "\n");
    return 0;
  }
  Args args;
  if (auto s = parseOptions(groups, words, &args); !s) return usageError(s.text(), ":", commandHelp(command));
  if (args.flag("help")) return print(commandHelp(command)), 0;
  auto shownName = command.name;
  if (!command.subcommands.empty()) {
    if (args.count() == 0) return print(commandHelp(command)), 0;
    auto word = args.at(0);
    const Subcommand* found = nullptr;
    for (auto& sub : command.subcommands)
      for (auto& name : Option{sub.names}.nameList())
        if (name == word) found = &sub;
    if (!found) return unknownTopic(word);
    shownName = Option{found->names}.key();
    args.setSubcommand(shownName);
    args.dropFirstPositional();
  }
  std::string complaint;
  if (args.count() < command.minArgs) {
    complaint = fmt::format("This command requires at least {} arguments", command.minArgs);
  } else if (args.count() > command.maxArgs) {
    std::string got;
    for (auto& word : args.positional()) got += (got.empty() ? "" : " ") + word;
    complaint = fmt::format("This command accept at most {} arguments but got [{}]", command.maxArgs, got);
  }
  if (!complaint.empty()) {
    print(fmt::format("ERROR: {}\nUSAGE:\n   juicefs {} [command options] {}\n", complaint, shownName, command.arguments));
    return 1;
  }
  int code = command.run(args);
  std::fflush(stdout);
  return code;
}

}  // namespace

const std::vector<std::string>& programArgs() { return gArgs; }
const GlobalSettings& globalSettings() { return gSettings; }

const std::vector<OptionGroup>& globalOptions() {
  using enum OptionType;
  static const std::vector<OptionGroup> groups{{"",
                                                {
                                                    {"verbose,debug,v", flag, "", "log details"},
                                                    {"quiet,q", flag, "", "log warnings and errors only"},
                                                    {"trace", flag, "", "log everything"},
                                                    {"log-level", text, "", "trace, debug, info, warn, error, fatal", true},
                                                    {"log-id", text, "", "put this id in front of every log line (\"random\": a new one)"},
                                                    {"no-agent", flag, "", "serve no debug pages on port 6060"},
                                                    {"pyroscope", text, "", "accepted; profiles are not uploaded"},
                                                    {"no-color", flag, "", "log without colours"},
                                                    {"help,h", flag, "", "show help"},
                                                    {"version,V", flag, "", "print the version"},
                                                }}};
  return groups;
}

int run(int argc, char** argv) {
  gArgs.assign(argv, argv + argc);
  maskTitle(argc, argv);
  std::vector<std::string> words(gArgs.begin() + (gArgs.empty() ? 0 : 1), gArgs.end());
  if (!gArgs.empty() && (gArgs[0].ends_with("/mount.juicefs") || std::getenv("CALL_VIA_MOUNT"))) {
    auto translated = mountHelperArgs(words);
    if (!translated) LOG_FATAL("{}", translated.status().text());
    words = *std::move(translated);
  }
  auto split = splitGlobals(words);
  const Command* command = split.rest.empty() ? nullptr : findCommand(split.rest[0]);
  Args global;
  if (auto s = parseOptions(globalOptions(), split.global, &global); !s) return usageError(s.text(), ".", globalHelp());
  setUpLogging(global);
  if (global.flag("version")) return print(fmt::format("juicefs version {}\n", kVersion)), 0;
  if (command) return runCommand(*command, {split.rest.begin() + 1, split.rest.end()});

  auto first = split.rest.empty() ? std::string() : split.rest[0];
  if (first.empty() || first == "-h" || first == "--help") return print(globalHelp()), 0;
  if (first == kCompletion) {
    for (auto& c : commands())
      if (!c.hidden) print(c.name + "\n");
    return 0;
  }
  if (first[0] == '-')
    return usageError("flag provided but not defined: -" + first.substr(std::min(first.find_first_not_of('-'), first.size())), ".", globalHelp());
  return unknownTopic(first);
}

}  // namespace aquifer::cli
