// `why`: the slowest operations of the last minute at a path, and the stage that cost the time.
#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/why_report.h"

namespace aquifer::cli {

namespace {

int run(const Args& args) {
  auto path = absolutePath(args.at(0));
  auto inode = inodeOf(path);
  if (!inode) LOG_FATAL("{}", inode.status().text());
  if (auto root = mountRootOf(path); !root) LOG_FATAL("{}", root.status().text());
  auto control = ControlClient::open(path);
  if (!control) LOG_FATAL("open controller: {}", control.status().text());
  std::string body;
  put64(body, *inode);
  auto reply = control->call(ControlOp::why, body);
  if (!reply) LOG_FATAL("{}", reply.status().text());
  if (reply->errnum == EINVAL) LOG_FATAL("the client that serves {} keeps no stage times", path);
  if (reply->errnum) LOG_FATAL("{}: {}", path, errnoText(reply->errnum));
  auto report = parseWhyReply(reply->data);
  if (!report) LOG_FATAL("{}", report.status().text());
  if (args.flag("json")) std::printf("%s\n", reply->data.c_str());
  else std::fputs(whyText(*report, path, args.uinteger("entries")).c_str(), stdout);
  return 0;
}

}  // namespace

Command whyCommand() {
  using enum OptionType;
  return {"why",
          "INSPECTOR",
          "Tell what made the last minute slow",
          "PATH",
          "Names the slowest operations of the last minute at a mount point, below a directory or on a file, and the stage that cost the\n"
          "time: object storage, metadata, local cache, a bandwidth limit, waiting in line, or the client itself. Users other than root see "
          "their own operations.\n\nExamples:\n$ juicefs why /mnt/jfs\n$ juicefs why --json /mnt/jfs/dir",
          {{"",
            {
                {"entries,e", uinteger, "10", "operations that are shown (at most 20)"},
                {"json", flag, "", "print JSON, times in microseconds"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
