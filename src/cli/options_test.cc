#include "cli/options.h"

#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/mount_helper_args.h"
#include "cli/table.h"

namespace aquifer::cli {
namespace {

std::vector<OptionGroup> table() {
  using enum OptionType;
  return {{"",
           {
               {"background,d", flag, "", ""},
               {"threads,p", integer, "10", ""},
               {"session,s", uinteger, "", ""},
               {"ratio", real, "0.1", ""},
               {"age", unitDuration, "2h", ""},
               {"exclude", list, "", ""},
           }},
          {"MORE", {{"bucket", text, "/var/jfs", ""}, {"size", text, "4M", ""}}}};
}

Args parsed(const std::vector<std::string>& words) {
  Args args;
  auto s = parseOptions(table(), words, &args);
  EXPECT_TRUE(s) << s.text();
  return args;
}
std::string refusal(const std::vector<std::string>& words) {
  Args args;
  auto s = parseOptions(table(), words, &args);
  EXPECT_TRUE(s.is(Code::invalid));
  return s.text();
}

TEST(Options, AnyOrderAndAnyNumberOfDashes) {
  auto args = parsed({"URL", "-d", "/mnt", "---threads", "3", "-bucket=x=y", "--exclude", "a", "--exclude=b"});
  EXPECT_EQ(args.positional(), (std::vector<std::string>{"URL", "/mnt"}));
  EXPECT_TRUE(args.flag("background"));
  EXPECT_TRUE(args.flag("d"));
  EXPECT_EQ(args.integer("p"), 3);
  EXPECT_EQ(args.text("bucket"), "x=y");
  EXPECT_EQ(args.list("exclude"), (std::vector<std::string>{"a", "b"}));
}

TEST(Options, DefaultsUntilGiven) {
  auto args = parsed({"--threads", "1", "--threads=2"});
  EXPECT_EQ(args.integer("threads"), 2);
  EXPECT_FALSE(args.isSet("bucket"));
  EXPECT_EQ(args.text("bucket"), "/var/jfs");
  EXPECT_EQ(args.size("size", 'K'), 4u << 20);
  EXPECT_DOUBLE_EQ(args.real("ratio"), 0.1);
  EXPECT_EQ(args.durationNanos("age"), 7200'000'000'000);
  EXPECT_EQ(args.uinteger("session"), 0u);
  EXPECT_TRUE(args.has("s"));
  EXPECT_FALSE(args.has("nothing"));
}

TEST(Options, AValueIsTakenWhateverItIs) {
  auto args = parsed({"--bucket", "--background", "URL"});
  EXPECT_EQ(args.text("bucket"), "--background");
  EXPECT_FALSE(args.flag("background"));
  EXPECT_EQ(refusal({"--threads", "sqlite3://x"}), "invalid value \"sqlite3://x\" for flag -threads: parse error");
}

TEST(Options, AtTheEndOfTheLineTheFirstPositionalIsTaken) {
  auto args = parsed({"URL", "/mnt", "--bucket"});
  EXPECT_EQ(args.text("bucket"), "URL");
  EXPECT_EQ(args.positional(), std::vector<std::string>{"/mnt"});
}

TEST(Options, RefusalsNameTheOptionAsItWasTyped) {
  EXPECT_EQ(refusal({"-s"}), "flag needs an argument: -s");
  EXPECT_EQ(refusal({"-s="}), "invalid value \"\" for flag -s: parse error");
  EXPECT_EQ(refusal({"--session", "-1"}), "invalid value \"-1\" for flag -session: parse error");
  EXPECT_EQ(refusal({"--session=99999999999999999999999"}), "invalid value \"99999999999999999999999\" for flag -session: value out of range");
  EXPECT_EQ(refusal({"-d=abc"}), "invalid boolean value \"abc\" for -d: parse error");
  EXPECT_EQ(refusal({"--age", "30"}), "invalid value \"30\" for flag -age: parse error");
}

TEST(Options, FlagsCanBeTurnedOff) {
  EXPECT_FALSE(parsed({"--background=false"}).flag("background"));
  EXPECT_TRUE(parsed({"--background=false"}).isSet("background"));
  EXPECT_TRUE(parsed({"-d=T"}).flag("background"));
}

TEST(Options, GivenForFstab) {
  EXPECT_EQ(parsed({"--size", "1G", "-d", "--bucket=x", "URL"}).given(), (std::vector<std::string>{"background", "bucket=x", "size=1G"}));
  EXPECT_EQ(parsed({"-d=false"}).given(), (std::vector<std::string>{"background=false"}));
}

TEST(Options, UnknownWordsAreNotFound) {
  bool takes = false;
  auto groups = table();
  EXPECT_EQ(findOption(groups, "--", &takes), nullptr);
  EXPECT_EQ(findOption(groups, "-", &takes), nullptr);
  EXPECT_EQ(findOption(groups, "-dp", &takes), nullptr);   // no clusters
  EXPECT_EQ(findOption(groups, "--=x", &takes), nullptr);
  EXPECT_EQ(findOption(groups, "bucket", &takes), nullptr);
  ASSERT_NE(findOption(groups, "--bucket", &takes), nullptr);
  EXPECT_TRUE(takes);
  ASSERT_NE(findOption(groups, "--bucket=1", &takes), nullptr);
  EXPECT_FALSE(takes);
}

TEST(Commands, NamesAreUniqueAndOptionsDoNotClash) {
  std::vector<std::string> names;
  for (auto& command : commands()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), command.name), 0) << command.name;
    names.push_back(command.name);
    std::vector<std::string> options;
    auto groups = command.groups;
    groups.insert(groups.end(), globalOptions().begin(), globalOptions().end());
    for (auto& group : groups)
      for (auto& option : group.options)
        for (auto& name : option.nameList()) {
          EXPECT_EQ(std::count(options.begin(), options.end(), name), 0) << command.name << " " << name;
          options.push_back(name);
        }
    EXPECT_NE(command.run, nullptr);
    auto help = commandHelp(command);
    EXPECT_NE(help.find("juicefs " + command.name), std::string::npos);
  }
}

TEST(MountHelper, WordsOfFstab) {
  auto words = mountHelperArgs({"sqlite3://x.db", "/mnt", "-o", "_netdev,nofail,allow_other,max_read=99,ro"});
  ASSERT_TRUE(words);
  EXPECT_EQ(*words, (std::vector<std::string>{"mount", "-d", "-o", "allow_other,max_read=99,ro", "sqlite3://x.db", "/mnt"}));
  EXPECT_TRUE(mountHelperArgs({"sqlite3://x.db"})->empty());
  auto debug = mountHelperArgs({"u", "m", "-o", "debug"});
  ASSERT_TRUE(debug);
  EXPECT_EQ(*debug, (std::vector<std::string>{"mount", "-d", "--debug", "-o", "debug", "u", "m"}));
  EXPECT_EQ(mountHelperArgs({"u", "m", "-o", "log-id"}).status().text(), "option log-id requires a value");
}

TEST(Table, HeaderCentredCellsRightOneColumnLeft) {
  EXPECT_EQ(renderTable({{"Path", "Size"}, {"/d", "1.0 GiB"}, {"/ä", "0 B"}}, 0),
            "+------+---------+\n"
            "| Path |   Size  |\n"
            "+------+---------+\n"
            "| /d   | 1.0 GiB |\n"
            "| /ä   |     0 B |\n"
            "+------+---------+\n");
}

}  // namespace
}  // namespace aquifer::cli
