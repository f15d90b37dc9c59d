// `destroy`: remove a volume, its objects first and the metadata last.
#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "base/encode.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/meta_read.h"
#include "cli/progress.h"
#include "cli/prompt.h"
#include "cli/table.h"
#include "cli/volume.h"

namespace aquifer::cli {

namespace {

constexpr int kDeleters = 10;
constexpr size_t kBatch = 100;  // objects in a request, for storages that delete many at once; small, so that all deleters have work

void refuseWithSessions(meta::Meta& meta) {
  auto sessions = meta.sessions();
  if (!sessions) LOG_FATAL("list sessions: {}", sessions.status().text());
  if (sessions->empty()) return;
  std::vector<std::vector<std::string>> rows{{"SID", "HostName", "MountPoint"}};
  for (auto& s : *sessions) rows.push_back({std::to_string(s.sid), s.info.hostName, s.info.mountPoint});
  LOG_FATAL("The volume is in use by {} clients; unmount them first, or wait until dead ones expire:\n{}", sessions->size(), renderTable(rows));
}

// Everything below the volume's prefix. Folders go last, the deepest first.
uint64_t removeObjects(object::ObjectStore& store, bool tolerant) {
  Progress progress;
  auto& bar = progress.counter("Deleted objects");
  std::atomic<uint64_t> removed{0}, failed{0};
  std::vector<std::string> folders;
  ThreadPool pool("destroy", kDeleters, 100);
  std::vector<std::string> batch;
  auto submit = [&] {
    pool.submit([&, keys = std::exchange(batch, {})] {
      if (auto s = store.removeMany(keys); !s) {
        LOG_ERROR("delete {} … {}: {}", keys.front(), keys.back(), s.text());
        ++failed;
        return;
      }
      bar.add(static_cast<int64_t>(keys.size()));
      removed += keys.size();
    });
  };
  auto listed = store.list("", "", [&](const object::ObjectInfo& o) {
    if (o.isDir) {
      folders.push_back(o.key);
      return true;
    }
    batch.push_back(o.key);
    if (batch.size() >= kBatch) submit();
    return true;
  });
  if (!batch.empty()) submit();
  pool.stop();
  for (auto it = folders.rbegin(); it != folders.rend(); ++it)
    if (auto s = store.remove(*it); !s) LOG_DEBUG("delete {}: {}", *it, s.text());
  progress.finish();
  if (!listed && !tolerant) LOG_FATAL("list all objects: {}", listed.text());
  if (!listed) LOG_WARN("list all objects: {}", listed.text());
  if (failed) LOG_FATAL("{} groups of objects could not be deleted; the metadata is kept, run this again", failed.load());
  if (!progress.shown()) LOG_INFO("Deleted {} objects", removed.load());
  return removed;
}

int run(const Args& args) {
  bool force = args.flag("force");
  auto volume = openVolumeOrDie(args.at(0), {}, false);
  if (volume.format.uuid != args.at(1)) LOG_FATAL("UUID \"{}\" != expected \"{}\"", args.at(1), volume.format.uuid);
  auto config = storeConfig(volume.format, nullptr);
  if (!config) LOG_FATAL("{}", config.status().text());
  config->encryptKeyPem.clear();   // deleting needs no key
  auto store = object::openObjectStore(*config);
  if (!store) LOG_FATAL("object storage: {}", store.status().text());
  if (!force) {
    refuseWithSessions(*volume.meta);
    auto used = volumeUsage(*volume.meta);
    if (!used) LOG_FATAL("{}", used.status().text());
    std::fputs(fmt::format(" volume name: {}\n volume UUID: {}\ndata storage: {}\n  used bytes: {}\n used inodes: {}\n", volume.format.name,
                           volume.format.uuid, (*store)->describe(), used->space, used->inodes)
                   .c_str(),
               stdout);
    printWarning("The target volume will be permanently destroyed, including:");
    printWarning(fmt::format("1. ALL objects in the data storage: {}", (*store)->describe()));
    printWarning(fmt::format("2. ALL entries in the metadata engine: {}", maskUrl(args.at(0))));
    if (!confirm(args.flag("yes"))) LOG_FATAL("Aborted.");
  }
  removeObjects(**store, force);
  if (auto s = volume.meta->store().drop(); !s) LOG_FATAL("reset meta: {}", s.text());
  LOG_INFO("The volume has been destroyed! You may need to delete cache directory manually.");
  return 0;
}

}  // namespace

Command destroyCommand() {
  using enum OptionType;
  return {"destroy",
          "ADMIN",
          "Delete a volume with everything in it",
          "META-URL UUID",
          "UUID is the volume's, as `status` shows it.\n\nExamples:\n$ juicefs destroy sqlite3://my.db e94d66a8-2339-4abd-b8d8-6812df737892",
          {{"",
            {
                {"yes,y", flag, "", "answer yes to every question"},
                {"force", flag, "", "skip all checks and questions, and go on if the bucket is missing"},
            }}},
          2,
          2,
          run};
}

}  // namespace aquifer::cli
