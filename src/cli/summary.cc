// `summary`: the sizes in a tree, largest first.
#include <fmt/core.h>

#include <cstdio>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "cli/control_json.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/values.h"

namespace aquifer::cli {

namespace {

using Rows = std::vector<std::vector<std::string>>;

void addRows(const SummaryNode& node, bool csv, bool root, Rows& rows) {
  auto path = root ? "/" : node.directory && node.path != "..." && !node.path.ends_with("/...") ? node.path + "/" : node.path;
  rows.push_back({path, csv ? std::to_string(node.size) : shortSize(node.size), std::to_string(node.dirs), std::to_string(node.files)});
  for (auto& child : node.children) addRows(child, csv, false, rows);
}

std::string csvCell(const std::string& text) {
  bool special = text.find_first_of(",\"\r\n") != std::string::npos || text.starts_with(' ');
  if (!special) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

uint64_t bounded(const Args& args, const char* option, uint64_t most) {
  auto v = args.uinteger(option);
  if (v <= most) return v;
  LOG_WARN("{} should be less than {}", option, most + 1);
  return most;
}

int run(const Args& args) {
  auto depth = bounded(args, "depth", 10), top = bounded(args, "entries", 100);
  auto path = absolutePath(args.at(0));
  auto inode = inodeOf(path);
  if (!inode) LOG_FATAL("lookup inode for \"{}\": {}", args.at(0), inode.status().text());
  if (*inode < 1) LOG_FATAL("inode number shouldn't be zero");
  auto control = ControlClient::open(path);
  if (!control) LOG_FATAL("open controller: {}", control.status().text());
  std::string body;
  put64(body, *inode);
  put8(body, depth);
  put8(body, top);
  put8(body, args.flag("strict"));
  Progress progress;
  auto& files = progress.counter("Counted files");
  auto& bytes = progress.bytes("Counted bytes");
  auto reply = control->call(ControlOp::summary, body, [&](uint64_t n, uint64_t size) {
    files.set(static_cast<int64_t>(n));
    bytes.set(static_cast<int64_t>(size));
  });
  progress.finish();
  if (!reply) LOG_FATAL("summary: {}", reply.status().text());
  if (reply->errnum == EINVAL) LOG_FATAL("summary is not supported, please upgrade and mount again");
  if (reply->errnum) LOG_FATAL("summary: {}", errnoText(reply->errnum));
  auto summary = parseSummaryReply(reply->data);
  if (!summary) LOG_FATAL("summary: {}", summary.status().text());
  if (summary->errnum) LOG_FATAL("summary: {}", errnoText(summary->errnum));
  Rows rows{{"PATH", "SIZE", "DIRS", "FILES"}};
  addRows(summary->tree, args.flag("csv"), true, rows);
  if (!args.flag("csv")) {
    std::fputs(renderTable(rows, 0).c_str(), stdout);
    return 0;
  }
  for (auto& row : rows) std::fputs(fmt::format("{},{},{},{}\n", csvCell(row[0]), row[1], row[2], row[3]).c_str(), stdout);
  return 0;
}

}  // namespace

Command summaryCommand() {
  using enum OptionType;
  return {"summary",
          "INSPECTOR",
          "Show the sizes in a directory tree",
          "PATH",
          "Examples:\n$ juicefs summary /mnt/jfs/dir\n$ juicefs summary --depth 5 --entries 20 --csv /mnt/jfs/dir",
          {{"",
            {
                {"depth,d", uinteger, "2", "levels that are shown (at most 10)"},
                {"entries,e", uinteger, "10", "entries of each directory that are shown, the largest ones (at most 100)"},
                {"strict", flag, "", "look at every file instead of the directories' statistics (slow on large trees)"},
                {"csv", flag, "", "print comma-separated values, sizes in bytes"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
