#include "cli/mount_backup.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <random>

#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread_pool.h"
#include "cli/backup_rotation.h"
#include "cli/dump_file.h"
#include "cli/errno_text.h"
#include "meta/dump/dump.h"
#include "meta/store/with_txn.h"

namespace aquifer::cli {
namespace {

constexpr char kLastBackup[] = "lastBackup";   // extended attribute of the root: RFC 3339
constexpr uint64_t kManyInodes = 1'000'000;    // a dump of so many an hour would be a burden
constexpr int64_t kHourNanos = 3'600'000'000'000;

std::optional<int64_t> parseTime(const std::string& text) {
  tm t{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &t);
  if (!rest) return std::nullopt;
  if (*rest == '.') rest += 1 + std::strspn(rest + 1, "0123456789");
  int64_t offset = 0;
  int hours = 0, minutes = 0;
  char sign = 0;
  if (std::sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) == 3 && (sign == '+' || sign == '-'))
    offset = (sign == '+' ? 1 : -1) * (hours * 3600 + minutes * 60);
  else if (std::string_view(rest) != "Z")
    return std::nullopt;
  return timegm(&t) - offset;
}

// A folder of our own for the dump until it is uploaded: nobody else may read the names in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string base = environment("TMPDIR");
    path_ = (base.empty() ? "/tmp" : base) + "/juicefs-backup-XXXXXX";
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Status putFile(object::ObjectStore& objects, const std::string& key, const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st {};
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0) {
    if (fd >= 0) close(fd);
    return Status(Code::io, fmt::format("open {}: {}", path, errnoText(errno)));
  }
  void* bytes = mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) return Status(Code::io, fmt::format("map {}: {}", path, errnoText(errno)));
  auto s = objects.put(key, {static_cast<const std::byte*>(bytes), static_cast<size_t>(st.st_size)});
  munmap(bytes, static_cast<size_t>(st.st_size));
  return s;
}

}  // namespace

MountBackup::MountBackup(meta::Meta& meta, object::ObjectStore& objects, const BackupConfig& config)
    : meta_(meta), objects_(objects), config_(config), thread_([this] { loop(); }) {}

MountBackup::~MountBackup() {
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool MountBackup::stopping() {
  std::lock_guard lock(mu_);
  return stopping_;
}

void MountBackup::loop() {
  setThreadName("meta-backup");
  std::mt19937_64 random(std::random_device{}());
  auto& last = metrics::gauge("last_successful_backup", "Unix time of the last successful backup of the metadata.");
  auto& duration = metrics::gauge("last_backup_duration", "Duration of the last backup of the metadata in seconds.");
  for (;;) {
    {
      const int64_t tenth = std::max<int64_t>(config_.intervalNanos / 10, 1'000'000);
      std::unique_lock lock(mu_);
      const auto wait = std::chrono::nanoseconds(tenth - tenth / 20 + static_cast<int64_t>(random() % static_cast<uint64_t>(tenth / 10 + 1)));
      if (wake_.wait_for(lock, wait, [this] { return stopping_; })) return;
    }
    auto mine = myTurn();
    if (!mine) LOG_WARN("backup of the metadata: {}", mine.status().text());
    if (!mine || !*mine) continue;
    const int64_t start = monotonicNanos();
    if (auto s = backUp(); s) {
      last.set(static_cast<double>(unixSeconds()));
      duration.set(static_cast<double>(monotonicNanos() - start) * 1e-9);
    } else if (!s.is(Code::interrupted)) {
      LOG_WARN("backup of the metadata: {}", s.text());
    }
  }
}

Result<bool> MountBackup::myTurn() {
  if (config_.intervalNanos <= kHourNanos) {
    if (const auto inodes = meta_.knownUsage().usedInodes; inodes > static_cast<int64_t>(kManyInodes)) {
      LOG_WARN("backup of the metadata skipped: {} inodes are too many for one every {} s; use a longer --backup-meta", inodes,
               config_.intervalNanos / 1'000'000'000);
      return false;
    }
  }
  const auto key = meta::key::xattr(meta::kRootIno, kLastBackup);
  const int64_t now = unixNanos();
  const std::string text = rfc3339(now, false);
  bool mine = false;
  TRY(meta::withTxn(
      meta_.store(), {.operation = "backup"},
      [&](meta::MetaTxn& tx) -> Status {
        TRY_ASSIGN(auto stored, tx.find<std::string>(key));
        const auto last = stored ? parseTime(*stored) : std::nullopt;
        mine = !last || now - *last * 1'000'000'000 >= config_.intervalNanos;
        if (mine) tx.put(key, text);
        return {};
      },
      {}, [&](meta::MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto stored, tx.find<std::string>(key));
        return stored && *stored == text;
      }));
  return mine;
}

Status MountBackup::backUp() {
  const int64_t now = unixSeconds();
  const std::string name = backupName(now);
  TemporaryFolder folder;
  if (folder.path().empty()) return Status(Code::io, "no temporary folder: " + errnoText(errno));
  const std::string path = folder.path() + "/" + name;
  TRY(dumpTo(path));
  TRY(putFile(objects_, "meta/" + name, path));
  LOG_INFO("backed the metadata up as meta/{}", name);
  return rotate(now);
}

Status MountBackup::dumpTo(const std::string& path) {
  TRY_ASSIGN(auto out, createDump(path));
  meta::DumpOptions options;
  options.skipTrash = config_.skipTrash;
  TRY(meta::dumpJson(meta_, options, [&](std::string_view bytes) { return out->write(bytes); }, [this](uint64_t) { return !stopping(); }));
  return out->finish();
}

Status MountBackup::rotate(int64_t now) {
  std::vector<std::string> names;
  TRY(objects_.list("meta/", "", [&](const object::ObjectInfo& info) {
    if (!info.isDir) names.push_back(info.key.substr(5));
    return true;
  }));
  for (const std::string& name : expiredBackups(std::move(names), now))
    if (auto s = objects_.remove("meta/" + name); !s) LOG_WARN("remove the old backup {}: {}", name, s.text());
  return {};
}

}  // namespace aquifer::cli
