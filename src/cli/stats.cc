// `stats`: what a mount does, a line every few seconds.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/mount_stats.h"
#include "cli/stats_table.h"

namespace aquifer::cli {

namespace {

constexpr uint64_t kHeaderEvery = 30;   // lines

MountStats mustRead(const std::string& root) {
  auto stats = readMountStats(root);
  if (!stats) LOG_FATAL("{}", stats.status().text());
  return *std::move(stats);
}

int run(const Args& args) {
  auto root = absolutePath(args.at(0));
  auto inode = inodeOf(root);
  if (!inode) LOG_FATAL("lookup inode for {}: {}", args.at(0), inode.status().text());
  if (*inode != 1) LOG_FATAL("path \"{}\" is not a mount point", args.at(0));
  std::string unknown;
  StatsTable table(args.text("schema"), args.uinteger("verbosity") > 0, isatty(STDOUT_FILENO) != 0, &unknown);
  for (char c : unknown) std::printf("Warning: no item defined for %c\n", c);
  if (table.empty()) LOG_FATAL("no section to watch, please check the schema string");
  auto interval = args.uinteger("interval"), count = args.uinteger("count");
  if (interval == 0 || interval > 86400) LOG_FATAL("interval is {}; it takes 1 to 86400 seconds", interval);
  auto before = mustRead(root), after = before;
  auto next = std::chrono::steady_clock::now();
  for (uint64_t line = 0;; ++line) {
    if (line % kHeaderEvery == 0) std::printf("%s\n", table.header().c_str());
    std::printf("%s\n", table.row(before, after, static_cast<double>(interval)).c_str());
    if (std::fflush(stdout) != 0 || (count && line + 1 >= count)) return 0;   // the reader of a pipe went away
    before = std::move(after);
    std::this_thread::sleep_until(next += std::chrono::seconds(interval));
    after = mustRead(root);
  }
}

}  // namespace

Command statsCommand() {
  using enum OptionType;
  return {"stats",
          "INSPECTOR",
          "Show what a mount does, as it happens",
          "MOUNTPOINT",
          "Examples:\n$ juicefs stats /mnt/jfs\n\n# More columns\n$ juicefs stats /mnt/jfs -l 1",
          {{"",
            {
                {"schema", text, "ufmco", "sections and their order (t: time, u: usage, f: fuse, m: metadata, c: block cache, o: object storage, g: allocator)"},
                {"interval", uinteger, "1", "seconds from line to line"},
                {"verbosity,l", uinteger, "0", "1 shows more columns"},
                {"count,c", uinteger, "0", "end after so many lines (0: never)"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
