// `restore`: rebuild the trees of an hour in the trash, and put them back where they were.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_set>

#include "base/log.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/strict_exit.h"
#include "cli/trash_walk.h"
#include "cli/values.h"
#include "cli/volume.h"

namespace aquifer::cli {

namespace {

// "<parent inode>-<inode>-<name>": how the trash calls what it holds.
bool splitTrashName(const std::string& text, meta::Ino* parent, std::string* name) {
  auto first = text.find('-');
  auto second = first == std::string::npos ? first : text.find('-', first + 1);
  if (second == std::string::npos || second + 1 >= text.size()) return false;
  uint64_t number;
  if (parseUnsigned(std::string_view(text).substr(0, first), &number) != NumberError::none) return false;
  *parent = number;
  *name = text.substr(second + 1);
  return true;
}

// False: something of the hour could not be restored.
bool restoreHour(meta::Meta& meta, const std::string& hour, bool putBack, int threads) {
  LOG_INFO("restore files in {} ...", quoted(hour));
  auto root = meta::Context::root();
  auto folder = meta.lookup(root, meta::kTrashIno, hour);
  if (!folder) {
    LOG_ERROR("lookup {}: {}", quoted(hour), folder.status().text());
    return false;
  }
  std::vector<meta::DirEntry> entries;
  auto listed = forEachEntry(meta, folder->ino, [&](const meta::DirEntry& e) {
    entries.push_back(e);
    return Status();
  });
  if (!listed) {
    LOG_ERROR("list {}: {}", quoted(hour), listed.text());
    return false;
  }
  std::unordered_set<meta::Ino> folders;
  for (auto& e : entries)
    if (e.dentry.type == meta::FileType::directory) folders.insert(e.dentry.ino);

  Progress progress;
  auto& restored = progress.counter(putBack ? "Restored files" : "Rebuilt files");
  auto& waiting = progress.counter("Need put-back");
  auto& conflicts = progress.counter("Conflicts");
  auto& failed = progress.counter("Failed");
  {
    ThreadPool pool("restore", threads, 1000);
    for (auto& e : entries) {
      pool.submit([&] {
        meta::Ino parent = 0;
        std::string name;
        if (!splitTrashName(e.name, &parent, &name)) {
          LOG_WARN("restore {}: not a name of the trash", quoted(e.name));
          return failed.add();
        }
        if (!putBack && !folders.count(parent)) return waiting.add();
        auto moved = meta.rename(root, folder->ino, e.name, parent, name, meta::kRenameNoReplace | meta::kRenameRestore);
        if (moved) return restored.add();
        LOG_WARN("restore {}: {}", quoted(e.name), moved.status().text());
        (moved.is(Code::exists) ? conflicts : failed).add();
      });
    }
    pool.stop();
  }
  progress.finish();
  LOG_INFO("{}: {} {}, {} need --put-back, {} conflicts, {} failed", hour, restored.current(), putBack ? "restored" : "rebuilt", waiting.current(),
           conflicts.current(), failed.current());
  return conflicts.current() + failed.current() == 0;
}

int run(const Args& args) {
  if (::geteuid() != 0) LOG_FATAL("only root can restore files from trash");
  OpenMetaOptions options;
  options.config.noBgJob = true;
  options.config.mountPoint = "restore";
  auto opened = openMeta(args.at(0), options);
  if (!opened) LOG_FATAL("{}", volumeProblem(opened.status()));
  auto& meta = **opened;
  if (auto loaded = meta.load(true); !loaded) LOG_FATAL("{}", volumeProblem(loaded.status()));
  // A session: moving files charges quotas, and only a session knows which there are.
  if (auto s = meta.openSession(); !s) LOG_FATAL("new session: {}", s.text());
  auto threads = static_cast<int>(std::clamp<int64_t>(args.integer("threads"), 1, 256));
  bool failed = false;
  for (size_t i = 1; i < args.count(); ++i) failed |= !restoreHour(meta, args.at(i), args.flag("put-back"), threads);
  if (auto s = meta.closeSession(); !s) LOG_WARN("close session: {}", s.text());
  return softExit(failed);
}

}  // namespace

Command restoreCommand() {
  using enum OptionType;
  return {"restore",
          "ADMIN",
          "Bring files back from the trash",
          "META HOUR ...",
          "HOUR is a folder of the trash, YYYY-MM-DD-HH in UTC. Without --put-back the trees are only rebuilt inside the trash.\n\n"
          "Examples:\n$ juicefs restore --put-back sqlite3://my.db 2026-01-31-10",
          {{"",
            {
                {"put-back", flag, "", "move the files to the directories where they were"},
                {"threads", integer, "10", "files moved at a time"},
            }}},
          2,
          SIZE_MAX,
          run};
}

}  // namespace aquifer::cli
