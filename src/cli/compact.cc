// `compact`: merge the slices of files below the given paths.
#include <fmt/core.h>

#include <algorithm>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/progress.h"
#include "cli/strict_exit.h"

namespace aquifer::cli {

namespace {

bool one(const std::string& path, int64_t threads) {
  auto inode = inodeOf(path);
  if (!inode) {
    LOG_ERROR("lookup inode for \"{}\" error: {}", path, inode.status().text());
    return false;
  }
  auto control = ControlClient::open(path);
  if (!control) {
    LOG_ERROR("open control file for [{}:{}]: {}", *inode, path, control.status().text());
    return false;
  }
  std::string body;
  put64(body, *inode);
  put16(body, static_cast<uint64_t>(threads));
  Progress progress;
  auto& bar = progress.bar("Compacted chunks", 0);
  auto reply = control->call(ControlOp::compact, body, [&](uint64_t found, uint64_t done) {
    bar.setTotal(static_cast<int64_t>(found));
    bar.set(static_cast<int64_t>(done));
  });
  progress.finish();
  if (!reply) LOG_ERROR("compact [{}:{}]: {}", *inode, path, reply.status().text());
  else if (reply->errnum == EINVAL) LOG_ERROR("compact is not supported, please upgrade and mount again");
  else if (reply->errnum) LOG_ERROR("compact [{}:{}]: {}", *inode, path, errnoText(reply->errnum));
  else LOG_INFO("compact [{}:\"{}\"] success.", *inode, path);
  return reply && reply->errnum == 0;
}

int run(const Args& args) {
  auto threads = std::clamp<int64_t>(args.integer("threads"), 1, 65535);
  bool failed = false;
  for (auto& word : args.positional()) failed |= !one(absolutePath(word), threads);
  return softExit(failed);
}

}  // namespace

Command compactCommand() {
  return {"compact",
          "TOOL",
          "Merge small slices of files",
          "PATH...",
          "Examples:\n$ juicefs compact /mnt/jfs/dir",
          {{"", {{"threads,p", OptionType::integer, "10", "chunks compacted at a time"}}}},
          1,
          SIZE_MAX,
          run};
}

}  // namespace aquifer::cli
