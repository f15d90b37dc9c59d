// The umount command.
#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "access/fuse/server.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text_file.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/mount_path.h"
#include "cli/values.h"
#include "cli/virtual_file.h"

namespace aquifer::cli {
namespace {

// Bytes below every <cache directory>/rawstaging: one mount may have several directories.
uint64_t stagedBytes(const std::string& cacheDirs) {
  uint64_t sum = 0;
  std::stringstream dirs(cacheDirs);
  for (std::string dir; std::getline(dirs, dir, ':');) {
    if (dir.empty() || dir == "memory") continue;
    std::error_code failed;
    for (auto it = std::filesystem::recursive_directory_iterator(dir + "/rawstaging", failed);
         !failed && it != std::filesystem::end(it); it.increment(failed)) {
      std::error_code skipped;  // files go while we look
      if (it->is_regular_file(skipped) && !skipped) {
        const auto size = it->file_size(skipped);
        if (!skipped) sum += size;
      }
    }
  }
  return sum;
}

// Waits while the amount shrinks, or is at rest for less than a minute. True when nothing is left.
bool waitForStaged(const std::string& cacheDirs) {
  constexpr int kRestLimit = 60;
  uint64_t last = stagedBytes(cacheDirs);
  int rest = 0;
  const bool any = last > 0;
  while (last > 0 && rest < kRestLimit) {
    sleepMs(1000);
    const uint64_t now = stagedBytes(cacheDirs);
    const uint64_t rate = last > now ? last - now : 0;
    rest = rate ? 0 : rest + 1;
    fmt::print("\r\033[K{} staging chunks are being flushed... {}/s, left {}", shortSize(now), shortSize(rate),
               durationText(rate ? static_cast<int64_t>(now / rate) * 1'000'000'000 : 0));
    std::fflush(stdout);
    last = now;
  }
  if (last == 0)
    fmt::print("{}All staging chunks are flushed\n", any ? "\r\033[K" : "");
  else
    fmt::print("\r\033[K{} staging chunks are not flushed\n", shortSize(last));
  std::fflush(stdout);
  return last == 0;
}

bool flushStaged(const std::string& mountPoint) {
  const auto config = nlohmann::json::parse(fileText(virtualFile(mountPoint, "config")), nullptr, false);
  if (!config.is_object() || !config.contains("Chunk") || !config["Chunk"].is_object()) LOG_FATAL("not a JuiceFS mount point");
  const auto& chunk = config["Chunk"];
  if (!chunk.value("Writeback", false)) return true;
  return waitForStaged(chunk.value("CacheDir", std::string()));
}

int runUmount(const Args& args) {
  const std::string path = absolutePath(args.at(0));
  if (args.flag("flush") && !flushStaged(path)) LOG_FATAL("staged data of {} could not be flushed; still mounted", path);
  if (auto s = fuse::unmountFuse(path, args.flag("force")); !s) LOG_FATAL("{}", s.text());
  return 0;
}

}  // namespace

Command umountCommand() {
  OptionGroup own{"",
                  {
                      {"force,f", OptionType::flag, "", "unmount even if the mount point is in use"},
                      {"flush", OptionType::flag, "", "wait until all staged blocks are uploaded"},
                  }};
  return {"umount", "SERVICE", "Unmount a volume", "MOUNTPOINT", "", {own}, 1, 1, runUmount};
}

}  // namespace aquifer::cli
