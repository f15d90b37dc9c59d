// Options as data: a table says names, type, default and help; the parser, the help text, bash completion and the mount
// helper all read the same table.
//
// Grammar (docs/formats/cli.md): options and positionals stand in any order, any number of dashes, `--k v` or `--k=v`; an option
// that takes a value swallows the next word whatever it is; the last occurrence wins.
// Plain values; Args is immutable after parsing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace aquifer::cli {

enum class OptionType : uint8_t {
  flag,          // bool, takes no separate word
  integer,       // int64, checked while parsing
  uinteger,      // uint64, checked while parsing
  real,          // double, checked while parsing
  unitDuration,  // duration that needs a unit, checked while parsing
  text,          // sizes, durations, rates too: they are read where they are used
  list,          // text that accumulates, in order
};

struct Option {
  std::string names;     // "background,d": the first is how code asks for it; shown in this order
  OptionType type = OptionType::text;
  std::string dflt;      // as text; empty: "", 0, false
  std::string help;
  bool hidden = false;
  std::string valueName = "value";

  std::vector<std::string> nameList() const;
  std::string key() const { return names.substr(0, names.find(',')); }
};

struct OptionGroup {
  std::string title;     // "" = the command's own, printed first and without a heading
  std::vector<Option> options;
};

// What a command line came to. Names are any of an option's names.
class Args {
 public:
  bool has(std::string_view name) const;          // the command has such an option
  bool isSet(std::string_view name) const;        // given on the command line
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;   // also uinteger, cut
  uint64_t uinteger(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<std::string> list(std::string_view name) const;
  // Read with the rules of values.h. A bad size or rate ends the program (FATAL naming value and option); a bad duration is 0
  // with a warning, as operators know it.
  uint64_t size(std::string_view name, char unit) const;
  int64_t durationNanos(std::string_view name) const;
  int64_t rateMbps(std::string_view name) const;

  const std::vector<std::string>& positional() const { return positional_; }
  const std::string& at(size_t i) const { return positional_[i]; }
  size_t count() const { return positional_.size(); }
  const std::string& subcommand() const { return subcommand_; }
  // "name" or "name=value" of what was given, sorted by name: for fstab entries.
  std::vector<std::string> given() const;
  void dropFirstPositional();
  void setSubcommand(std::string name) { subcommand_ = std::move(name); }
  void addPositional(std::string word) { positional_.push_back(std::move(word)); }

 private:
  friend Status parseOptions(const std::vector<OptionGroup>&, const std::vector<std::string>&, Args*);
  struct Slot {
    const Option* option = nullptr;
    std::vector<std::string> values;  // given; empty = default
  };
  const Slot* slot(std::string_view name) const;
  std::string value(std::string_view name) const;
  std::vector<OptionGroup> groups_;   // a copy, so that Args may outlive the tables; slots point into it
  std::map<std::string, size_t, std::less<>> index_;
  std::vector<Slot> slots_;
  std::vector<std::string> positional_;
  std::string subcommand_;

 public:
  Args() = default;
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;
  Args(Args&&) = default;
  Args& operator=(Args&&) = default;
};

// Is this word one of the options, and does it take the next word as its value? Null: no option of the table.
const Option* findOption(const std::vector<OptionGroup>& groups, std::string_view word, bool* takesNext);

// Parses words into `args` (options and positionals). Code::invalid with the text of a usage error: a bad value, a missing
// one. Words that are no option of the table although they start with '-' are positionals: the caller looks for them first.
Status parseOptions(const std::vector<OptionGroup>& groups, const std::vector<std::string>& words, Args* args);

}  // namespace aquifer::cli
