// `rmr`: remove whole trees, inside the mount and so without a round trip per file.
#include <fmt/core.h>
#include <unistd.h>

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

int run(const Args& args) {
  bool skipTrash = args.flag("skip-trash");
  if (skipTrash && ::geteuid() != 0) LOG_FATAL("Only root can remove files directly");
  auto threads = std::clamp<int64_t>(args.integer("threads"), 1, 255);
  Progress progress;
  auto& removed = progress.counter("Removing entries");
  int64_t before = 0;
  bool failed = false;
  for (auto& word : args.positional()) {
    auto path = absolutePath(word);
    auto parent = parentOf(path), name = baseName(path);
    if (name.empty()) LOG_FATAL("RMR \"{}\": the root cannot be removed", word);
    auto inode = inodeOf(parent);
    if (!inode) LOG_FATAL("lookup inode for {}: {}", parent, inode.status().text());
    auto control = ControlClient::open(parent);
    if (!control) {
      LOG_ERROR("Open control file for \"{}\": {}", parent, control.status().text());
      failed = true;
      continue;
    }
    if (name.size() > 255) LOG_FATAL("RMR \"{}\": {}", word, errnoText(ENAMETOOLONG));
    std::string body;
    put64(body, *inode);
    put8(body, name.size());
    body += name;
    put8(body, skipTrash);
    put8(body, static_cast<uint64_t>(threads));
    auto reply = control->call(ControlOp::rmr, body, [&](uint64_t n, uint64_t) { removed.set(before + static_cast<int64_t>(n)); });
    if (!reply) LOG_FATAL("RMR \"{}\": {}", word, reply.status().text());
    if (reply->errnum) LOG_FATAL("RMR \"{}\": {}", word, errnoText(reply->errnum));
    before = removed.current();
  }
  return softExit(failed);
}

}  // namespace

Command rmrCommand() {
  using enum OptionType;
  return {"rmr",
          "TOOL",
          "Remove whole directory trees",
          "PATH ...",
          "Examples:\n$ juicefs rmr /mnt/jfs/dir",
          {{"",
            {
                {"skip-trash", flag, "", "remove for good, past the trash (root only)"},
                {"threads,p", integer, "50", "entries removed at a time (1 to 255)"},
            }}},
          1,
          SIZE_MAX,
          run};
}

}  // namespace aquifer::cli
