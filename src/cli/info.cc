// `info`: what the metadata holds about a path or an inode of a mount.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "cli/control_json.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/progress.h"
#include "cli/strict_exit.h"
#include "cli/table.h"
#include "cli/values.h"

namespace aquifer::cli {

namespace {

void printTable(const std::vector<std::vector<std::string>>& rows, int left = -1) { std::fputs(renderTable(rows, left).c_str(), stdout); }

void printLocks(const InfoReply& info) {
  if (!info.flocks.empty()) {
    std::puts(" flocks:");
    std::vector<std::vector<std::string>> rows{{"Sid", "Owner", "Type"}};
    for (auto& l : info.flocks) rows.push_back({std::to_string(l.sid), std::to_string(l.owner), l.type});
    printTable(rows);
  }
  if (!info.plocks.empty()) {
    std::puts(" plocks:");
    std::vector<std::vector<std::string>> rows{{"Sid", "Owner", "Type", "Pid", "Start", "End"}};
    for (auto& l : info.plocks)
      rows.push_back({std::to_string(l.sid), std::to_string(l.owner), l.type, std::to_string(l.pid), std::to_string(l.start), std::to_string(l.end)});
    printTable(rows);
  }
}

void print(const std::string& title, const InfoReply& info, bool raw) {
  std::string out = title + " :\n";
  out += fmt::format("  inode: {}\n  files: {}\n   dirs: {}\n length: {}\n   size: {}\n", info.ino, info.files, info.dirs, longSize(info.length),
                     longSize(info.size));
  if (info.paths.empty()) out += "   path: unknown\n";
  else if (info.paths.size() == 1) out += "   path: " + info.paths[0] + "\n";
  else {
    out += "  paths:\n";
    for (auto& p : info.paths) out += "\t" + p + "\n";
  }
  if (info.hasTier) out += fmt::format("   tier: {}->{} {}\n", info.tierId, info.tierClass, info.restoreStatus);
  std::fputs(out.c_str(), stdout);
  if (raw && !info.chunks.empty()) {
    std::puts(" chunks:");
    std::vector<std::vector<std::string>> rows{{"chunkIndex", "sliceId", "size", "offset", "length"}};
    for (auto& c : info.chunks)
      rows.push_back({std::to_string(c.chunkIndex), std::to_string(c.id), std::to_string(c.size), std::to_string(c.off), std::to_string(c.len)});
    printTable(rows);
  }
  if (!raw && !info.objects.empty()) {
    std::puts(" objects:");
    std::vector<std::vector<std::string>> rows{{"chunkIndex", "objectName", "size", "offset", "length", "pos"}};
    uint64_t pos = 0, chunk = 0;
    for (auto& o : info.objects) {
      if (o.chunkIndex != chunk) pos = 0, chunk = o.chunkIndex;
      rows.push_back({std::to_string(o.chunkIndex), o.key, std::to_string(o.size), std::to_string(o.off), std::to_string(o.len), std::to_string(pos)});
      pos += o.len;
    }
    printTable(rows, 1);
  }
  printLocks(info);
}

// False: this one could not be looked up; the others still are.
bool one(const Args& args, const std::string& word) {
  uint64_t inode = 0;
  std::string directory;
  if (args.flag("inode")) {
    if (parseUnsigned(word, &inode) != NumberError::none) {
      LOG_ERROR("lookup inode for \"{}\": not a number", word);
      return false;
    }
    directory = absolutePath(".");
  } else {
    directory = absolutePath(word);
    auto found = inodeOf(directory);
    if (!found) {
      LOG_ERROR("lookup inode for \"{}\": {}", word, found.status().text());
      return false;
    }
    inode = *found;
  }
  auto control = ControlClient::open(directory);
  if (!control) {
    LOG_ERROR("Open control file for \"{}\": {}", word, control.status().text());
    return false;
  }
  std::string body;
  put64(body, inode);
  put8(body, args.flag("recursive"));
  put8(body, args.flag("raw"));
  put8(body, args.flag("strict"));
  Progress progress(!args.flag("recursive"));
  auto& files = progress.counter("Counted files");
  auto& bytes = progress.bytes("Counted bytes");
  auto reply = control->call(ControlOp::info, body, [&](uint64_t n, uint64_t size) {
    files.set(static_cast<int64_t>(n));
    bytes.set(static_cast<int64_t>(size));
  });
  progress.finish();
  if (!reply) LOG_FATAL("info: {}", reply.status().text());
  if (reply->errnum == EINVAL) LOG_FATAL("info is not supported, please upgrade and mount again");
  if (reply->errnum) LOG_FATAL("info: {}", errnoText(reply->errnum));
  auto info = parseInfoReply(reply->data);
  if (!info) LOG_FATAL("info: {}", info.status().text());
  if (info->failed) LOG_FATAL("info: {}", info->reason);
  print(word, *info, args.flag("raw"));
  return true;
}

int run(const Args& args) {
  bool failed = false;
  for (auto& word : args.positional()) failed |= !one(args, word);
  return softExit(failed);
}

}  // namespace

Command infoCommand() {
  using enum OptionType;
  return {"info",
          "INSPECTOR",
          "Show what is known about a path or an inode",
          "PATH/INODE",
          "Examples:\n$ juicefs info /mnt/jfs/file\n$ cd /mnt/jfs && juicefs info -i 100",
          {{"",
            {
                {"inode,i", flag, "", "the arguments are inodes; the current directory lies inside the mount"},
                {"recursive,r", flag, "", "sum up everything below a directory, from its statistics"},
                {"strict", flag, "", "sum up by looking at every file (slow on large trees)"},
                {"raw", flag, "", "show slices instead of objects"},
            }}},
          1,
          SIZE_MAX,
          run};
}

}  // namespace aquifer::cli
