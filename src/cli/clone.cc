// `clone`: a copy of a file or tree that shares the data.
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/control_client.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/progress.h"

namespace aquifer::cli {

namespace {

constexpr uint8_t kPreserveAttributes = 2, kPreserveHardLinks = 8;

std::string mountOrDie(const std::string& path, const std::string& shown) {
  auto root = mountRootOf(path);
  if (!root) LOG_FATAL("{} is not inside JuiceFS", shown);
  return *root;
}

int run(const Args& args) {
  const auto& shownSrc = args.at(0);
  auto src = absolutePath(shownSrc);
  struct stat st {};
  if (::lstat(src.c_str(), &st) != 0) LOG_FATAL("lookup inode for {}: stat {}: {}", shownSrc, shownSrc, errnoText(errno));
  auto srcInode = static_cast<uint64_t>(st.st_ino);
  auto shownDst = args.at(1);
  auto dst = absolutePath(shownDst);
  if (shownDst.ends_with('/')) dst = (dst == "/" ? "" : dst) + "/" + baseName(src);
  if (dst == src || dst.starts_with(src + "/")) LOG_FATAL("the clone DST path should not be under the SRC path");
  if (::lstat(dst.c_str(), &st) == 0) LOG_FATAL("{} already exists", shownDst);
  auto srcParent = parentOf(src), dstParent = parentOf(dst), name = baseName(dst);
  if (name.size() > 255) LOG_FATAL("clone failed: {}", errnoText(ENAMETOOLONG));
  auto srcParentInode = inodeOf(srcParent), dstParentInode = inodeOf(dstParent);
  if (!srcParentInode) LOG_FATAL("get inode of {}: {}", srcParent, srcParentInode.status().text());
  if (!dstParentInode) LOG_FATAL("get inode of {}: {}", dstParent, dstParentInode.status().text());
  if (mountOrDie(src, shownSrc) != mountOrDie(dstParent, dstParent)) LOG_FATAL("the clone DST path should be at the same mount point as the SRC path");

  auto control = ControlClient::open(srcParent);
  if (!control) LOG_FATAL("{}", control.status().text());
  auto mask = ::umask(0);
  ::umask(mask);
  std::string body;
  put64(body, srcInode);
  put64(body, *srcParentInode);
  put64(body, *dstParentInode);
  put8(body, name.size());
  body += name;
  put16(body, mask);
  put8(body, args.flag("preserve") ? kPreserveAttributes | kPreserveHardLinks : 0);
  put8(body, static_cast<uint64_t>(std::clamp<int64_t>(args.integer("threads"), 1, 255)));
  Progress progress;
  auto& bar = progress.bar("Cloning entries", 0);
  auto reply = control->call(ControlOp::clone, body, [&](uint64_t done, uint64_t total) {
    bar.setTotal(static_cast<int64_t>(total));
    bar.set(static_cast<int64_t>(done));
  });
  progress.finish();
  if (!reply) LOG_FATAL("clone failed: {}", reply.status().text());
  if (reply->errnum == EINVAL) LOG_FATAL("clone is not supported, please upgrade and mount again");
  if (reply->errnum) LOG_FATAL("clone failed: {}", errnoText(reply->errnum));
  return 0;
}

}  // namespace

Command cloneCommand() {
  using enum OptionType;
  return {"clone",
          "TOOL",
          "Copy a file or a tree without copying its data",
          "SRC DST",
          "Both lie in the same mount; DST must not exist. The copy shares the blocks until either side is changed.\n\n"
          "Examples:\n$ juicefs clone /mnt/jfs/dir /mnt/jfs/copy",
          {{"",
            {
                {"preserve,p", flag, "", "keep owner, mode and times"},
                {"threads", integer, "4", "directories copied at a time"},
            }}},
          2,
          2,
          run};
}

}  // namespace aquifer::cli
