// `config`: show the setting of a volume, or change what may change.
#include <fmt/core.h>

#include <cstdio>

#include "base/log.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_change.h"
#include "cli/meta_read.h"
#include "cli/option_groups.h"
#include "cli/prompt.h"
#include "cli/values.h"
#include "cli/volume.h"
#include "cli/volume_options.h"

namespace aquifer::cli {

namespace {

void askOrDie(bool yes) {
  if (!confirm(yes)) LOG_FATAL("Aborted.");
}

// Warns about what running clients and the data would feel, and asks.
void askAboutConsequences(meta::Meta& meta, const meta::Format& before, const meta::Format& after, const ConfigChange& change, bool yes) {
  if (change.limits && (after.capacity || after.inodes)) {
    auto used = volumeUsage(meta);
    if (!used) LOG_FATAL("{}", used.status().text());
    if ((after.capacity && static_cast<uint64_t>(used->space) > after.capacity) ||
        (after.inodes && static_cast<uint64_t>(used->inodes) > after.inodes)) {
      printWarning(fmt::format("New quota is too small (used / quota): {} / {} bytes, {} / {} inodes.", used->space, after.capacity,
                               used->inodes, after.inodes));
      askOrDie(yes);
    }
  }
  if (change.trash && after.trashDays == 0 && before.trashDays > 0) {
    printWarning("The current trash will be emptied and future removed files will purged immediately.");
    askOrDie(yes);
  }
  if (change.clientVersions) {
    auto sessions = meta.sessions();
    if (!sessions) LOG_FATAL("list sessions: {}", sessions.status().text());
    std::string rejected;
    for (auto& s : *sessions)
      if (auto refused = meta::checkCompatible(after, s.info.version); !refused)
        rejected += fmt::format("host {} pid {} client version error: {}\n", s.info.hostName, s.info.processId, refused.text());
    bool refusesUs = !meta::checkCompatible(after, kVersion);
    if (rejected.empty() && !refusesUs) return;
    if (after.minClientVersion != before.minClientVersion)
      printWarning(fmt::format("Clients below version {} will be rejected after modification.", after.minClientVersion));
    if (after.maxClientVersion != before.maxClientVersion)
      printWarning(fmt::format("Clients above version {} will be rejected after modification.", after.maxClientVersion));
    std::fputs(rejected.c_str(), stdout);
    askOrDie(yes);
  }
}

// Directory quotas are kept from directory statistics: without them clients would silently stop to enforce quotas.
void refuseWithDirQuotas(meta::Meta& meta) {
  auto quotas = meta.listQuotas();
  if (!quotas) LOG_FATAL("list quotas: {}", quotas.status().text());
  size_t count = 0;
  std::string paths;
  for (auto& [key, quota] : *quotas) {
    if (key.kind != meta::Kind::dirQuota) continue;
    auto found = meta.paths(key.id);
    auto path = found && !found->empty() ? found->front() : fmt::format("inode:{}", key.id);
    paths += (count ? " " : "") + path;
    ++count;
  }
  if (count) LOG_FATAL("cannot disable dir stats when there are still {} dir quotas: [{}]", count, paths);
}

int run(const Args& args) {
  if (args.integer("tier") < 0 || args.integer("tier") > 3) LOG_FATAL("tier should be between 0 and 3");
  auto opened = openMeta(args.at(0));
  if (!opened) LOG_FATAL("{}", volumeProblem(opened.status()));
  auto& meta = **opened;
  auto loaded = meta.load(false);
  if (!loaded) LOG_FATAL("{}", volumeProblem(loaded.status()));
  auto stored = storedFormat(meta);
  if (!stored) LOG_FATAL("{}", stored.status().text());
  if (!anyChangeAsked(args)) {
    std::puts(meta::formatToJsonNoSecrets(*stored, 2).c_str());
    return 0;
  }

  const meta::Format before = *loaded;
  meta::Format after = before;
  auto applied = applyConfigFlags(after, args);
  if (!applied) LOG_FATAL("{}", applied.status().text());
  auto& change = *applied;
  change.encrypt &= !stored->keyEncrypted && !(after.secretKey.empty() && after.sessionToken.empty() && after.encryptKey.empty());
  if (change.encrypt) change.lines.push_back("secrets: encrypted");
  if (change.lines.empty()) {
    std::puts("Nothing changed.");
    return 0;
  }
  bool force = args.flag("force"), yes = args.flag("yes") || force;
  if (!force) {
    if (before.dirStats && !after.dirStats) refuseWithDirQuotas(meta);
    if (change.replacesTier) {
      printWarning("The tier is already defined; objects written with it keep their old storage class.");
      askOrDie(yes);
    }
    if (change.storage) {
      auto place = storeConfig(after, nullptr);
      auto store = place ? object::openObjectStore(*place) : Result<std::unique_ptr<object::ObjectStore>>(place.status());
      if (!store) LOG_FATAL("object storage: {}", store.status().text());
      if (auto s = checkStorage(**store); !s) LOG_FATAL("{}", s.text());
    }
    askAboutConsequences(meta, before, after, change, yes);
  }
  if (auto s = meta.init(after, false); !s) LOG_FATAL("{}", s.text());
  for (auto& line : change.lines) std::puts(line.c_str());
  return 0;
}

}  // namespace

Command configCommand() {
  using enum OptionType;
  auto management = volumeManagementOptions();
  for (auto& option : std::vector<Option>{
           {"encrypt-secret", flag, "", "encrypt secrets that are stored in clear text"},
           {"min-client-version", text, "", "oldest client that may connect"},
           {"max-client-version", text, "", "newest client that may connect"},
           {"dir-stats", flag, "", "keep statistics of directories, which fast summaries and directory quotas need"},
           {"user-group-quota", flag, "", "count the usage of users and groups"},
           {"changelog", flag, "", "record changes of the metadata"},
           {"changelog-max-age", unitDuration, "2h", "how long records are kept (0: not limited by age)"},
           {"changelog-max-lines", integer, "", "how many records are kept (0: any number)"},
           {"tier", integer, "", "storage tier that --storage-class and --tag define (0 to 3)"},
       })
    management.options.push_back(option);
  return {"config",
          "ADMIN",
          "Show or change the setting of a volume",
          "META-URL",
          "Without flags the setting is printed as JSON. Only flags that are given change something; running clients\n"
          "follow within a heartbeat.\n\n"
          "Examples:\n"
          "$ juicefs config sqlite3://my.db\n"
          "$ juicefs config sqlite3://my.db --capacity 1T --inodes 10000000\n"
          "$ juicefs config sqlite3://my.db --trash-days 7",
          {{"",
            {
                {"yes,y", flag, "", "answer yes to every question"},
                {"force", flag, "", "skip checks and questions"},
            }},
           volumeStorageOptions(true),
           management},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
