// The help texts, laid out from the tables.
#include <fmt/core.h>

#include <algorithm>

#include "base/version.h"
#include "cli/command.h"

namespace aquifer::cli {

namespace {

using Row = std::pair<std::string, std::string>;

Row optionRow(const Option& option) {
  std::string left;
  for (auto& name : option.nameList()) {
    if (!left.empty()) left += ", ";
    left += name.size() == 1 ? "-" : "--";
    left += name;
    if (option.type != OptionType::flag) left += " " + option.valueName;
  }
  std::string right = option.help;
  bool number = option.type == OptionType::integer || option.type == OptionType::uinteger || option.type == OptionType::real;
  if (option.type == OptionType::flag) right += " (default: false)";
  else if (number || option.type == OptionType::unitDuration) right += " (default: " + (option.dflt.empty() ? "0" : option.dflt) + ")";
  else if (!option.dflt.empty()) right += " (default: \"" + option.dflt + "\")";
  return {left, right};
}

std::string table(const std::vector<Row>& rows, size_t indent) {
  size_t width = 0;
  for (auto& [left, right] : rows) width = std::max(width, left.size());
  std::string out;
  for (auto& [left, right] : rows) out += fmt::format("{:{}}{:<{}}  {}\n", "", indent, left, width, right);
  return out;
}

std::string optionTable(const OptionGroup& group, bool withHelp) {
  std::vector<Row> rows;
  for (auto& option : group.options)
    if (!option.hidden) rows.push_back(optionRow(option));
  if (withHelp) rows.push_back({"--help, -h", "show help (default: false)"});
  return table(rows, 3);
}

std::string indented(const std::string& text) {
  std::string out = "   ";
  for (char c : text) {
    out += c;
    if (c == '\n') out += "   ";
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out + "\n";
}

}  // namespace

std::string commandHelp(const Command& command) {
  std::string out = fmt::format("NAME:\n   juicefs {} - {}\n\nUSAGE:\n   juicefs {} {}[command options] {}\n", command.name, command.summary,
                                command.name, command.subcommands.empty() ? "" : "command ", command.arguments);
  if (!command.category.empty() && command.subcommands.empty()) out += fmt::format("\nCATEGORY:\n   {}\n", command.category);
  if (!command.description.empty()) out += "\nDESCRIPTION:\n" + indented(command.description);
  if (!command.subcommands.empty()) {
    std::vector<Row> rows;
    for (auto& sub : command.subcommands) {
      std::string names;
      for (char c : sub.names) names += c == ',' ? std::string(", ") : std::string(1, c);
      rows.push_back({names, sub.summary});
    }
    out += "\nCOMMANDS:\n" + table(rows, 3);
  }
  bool grouped = std::any_of(command.groups.begin(), command.groups.end(), [](auto& g) { return !g.title.empty(); });
  out += "\nOPTIONS:\n";
  if (!grouped) {
    OptionGroup none;
    return out + optionTable(command.groups.empty() ? none : command.groups.front(), true);
  }
  for (auto& group : command.groups)
    out += (group.title.empty() ? "" : "   " + group.title + "\n\n") + optionTable(group, false) + "\n";
  return out;
}

std::string globalHelp() {
  std::string out = fmt::format(
      "NAME:\n   juicefs - Aquifer, a file system over object storage, compatible with JuiceFS.\n\nUSAGE:\n"
      "   juicefs [global options] command [command options] [arguments...]\n\nVERSION:\n   {}\n\nCOMMANDS:\n",
      kVersion);
  for (auto category : {"ADMIN", "INSPECTOR", "SERVICE", "TOOL"}) {
    std::vector<Row> rows;
    for (auto& c : commands())
      if (!c.hidden && c.category == category) rows.push_back({c.name, c.summary});
    if (!rows.empty()) out += fmt::format("   {}:\n{}", category, table(rows, 5));
  }
  std::vector<Row> rows;
  for (auto& group : globalOptions())
    for (auto& option : group.options)
      if (!option.hidden) rows.push_back(optionRow(option));
  return out + "\nGLOBAL OPTIONS:\n" + table(rows, 3);
}

}  // namespace aquifer::cli
