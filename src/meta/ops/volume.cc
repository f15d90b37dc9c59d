// The volume setting: making a volume, changing it, loading it; usage and quotas into the cache; the root of a
// sub-directory mount.
#include <fmt/core.h>

#include "base/log.h"
#include "base/version.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

constexpr size_t kBatch = 50;

// What cannot change once there is data.
Status checkImmutable(const Format& old, const Format& format) {
  auto refuse = [](std::string_view what, const auto& from, const auto& to) {
    return Status(Code::config, fmt::format("update format: cannot update volume {} from {} to {}", what, from, to));
  };
  if (format.name != old.name) return refuse("name", old.name, format.name);
  if (format.blockSizeKiB != old.blockSizeKiB) return refuse("block size", old.blockSizeKiB, format.blockSizeKiB);
  if (format.compression != old.compression) return refuse("compression", old.compression, format.compression);
  if (format.shards != old.shards) return refuse("shards", old.shards, format.shards);
  if (format.hashPrefix != old.hashPrefix) return refuse("hash prefix", old.hashPrefix, format.hashPrefix);
  if (format.metaVersion != old.metaVersion) return refuse("meta version", old.metaVersion, format.metaVersion);
  return {};
}

Attr newDirectory(uint16_t mode, Time now) {
  Attr attr;
  attr.type = FileType::directory;
  attr.mode = mode;
  attr.atime = attr.mtime = attr.ctime = now;
  attr.nlink = 2;
  attr.length = 4096;
  attr.parent = kRootIno;
  return attr;
}

// Deletes all records of a kind in bounded transactions.
Status eraseAll(MetaStore& store, Kind kind) {
  std::optional<Key> after;
  for (;;) {
    std::vector<Key> keys;
    TRY(withTxn(store, {.operation = "eraseAll"}, [&](MetaTxn& tx) -> Status {
      keys.clear();
      TRY(tx.list({.kind = kind, .after = after, .limit = kBatch}, [&](const Key& key, const Value&) {
        keys.push_back(key);
        return true;
      }));
      for (auto& key : keys) tx.erase(key);
      return {};
    }));
    if (keys.size() < kBatch) return {};
    after = keys.back();
  }
}

// Usage of every owner, counted from the nodes. Every type counts, since every type is charged when it is made and when it goes.
Status countOwners(MetaStore& store) {
  std::map<std::pair<Kind, uint64_t>, std::pair<int64_t, int64_t>> used;
  TRY(withRead(store, "countOwners", [&](MetaTxn& tx) {
    used.clear();
    return tx.list({.kind = Kind::node}, [&](const Key& key, const Value& value) {
      auto* attr = std::get_if<Attr>(&value);
      if (!attr || key.id == kRootIno || isTrash(key.id)) return true;
      for (auto owner : {std::pair{Kind::userQuota, uint64_t{attr->uid}}, std::pair{Kind::groupQuota, uint64_t{attr->gid}}}) {
        used[owner].first += spaceOf(*attr);
        used[owner].second++;
      }
      return true;
    });
  }));
  for (auto& [owner, sum] : used)
    TRY(withTxn(store, {.operation = "countOwners"}, [&, owner = owner, sum = sum](MetaTxn& tx) -> Status {
      tx.put({owner.first, owner.second, 0, {}}, Quota{.usedSpace = sum.first, .usedInodes = sum.second});
      return {};
    }));
  return {};
}

}  // namespace

Status MetaImpl::init(const Format& wanted, bool force) {
  if (config_.readOnly) return Code::readOnly;
  TRY(store_->prepareSchema(true));
  std::optional<Format> old;
  TRY(read("init", [&](MetaTxn& tx) -> Status {
    old.reset();
    TRY_ASSIGN(auto text, tx.find<std::string>(key::setting()));
    if (!text) return {};
    TRY_ASSIGN(old, parseFormat(*text));
    return {};
  }));
  Format format = wanted;
  if (old) {
    if (force) {
      LOG_WARN("Existing volume will be overwritten: {}", formatToJsonNoSecrets(*old, -1));
    } else {
      TRY(checkImmutable(*old, format));
      format.uuid = old->uuid;
    }
    if (format.unknownJson.empty()) format.unknownJson = old->unknownJson;
  }
  bool startDirStats = old && format.dirStats && !old->dirStats;
  bool startOwners = old && format.userGroupQuota && !old->userGroupQuota;
  if (startDirStats) TRY(eraseAll(*store_, Kind::dirStat));
  if (startOwners) {
    TRY(eraseAll(*store_, Kind::userQuota));
    TRY(eraseAll(*store_, Kind::groupQuota));
  }

  Format stored = format;
  TRY(encryptSecrets(stored));
  auto json = formatToJson(stored);
  auto time = now();
  TRY(txn(
      "init",
      [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(auto present, tx.find<std::string>(key::setting()));
        if (present.has_value() != old.has_value()) return Code::conflict;  // somebody else formats at this moment
        tx.put(key::setting(), json);
        TRY_ASSIGN(auto root, tx.find<Attr>(key::node(kRootIno), kFieldType));
        if (!root) {
          tx.insert(key::node(kRootIno), newDirectory(0777, time));
          if (format.dirStats) tx.insert(key::dirStat(kRootIno), DirStat{});
        }
        if (format.trashDays > 0) {
          TRY_ASSIGN(auto trash, tx.find<Attr>(key::node(kTrashIno), kFieldType));
          if (!trash) tx.insert(key::node(kTrashIno), newDirectory(0555, time));
        }
        if (!old) {
          tx.put(key::counter(counter::kNextInode), int64_t{2});
          tx.put(key::counter(counter::kNextChunk), int64_t{1});
          tx.put(key::counter(counter::kNextSession), int64_t{0});
          tx.put(key::counter(counter::kUsedSpace), int64_t{0});
          tx.put(key::counter(counter::kTotalInodes), int64_t{0});
          tx.put(key::counter(counter::kNextCleanupSlices), int64_t{0});
        }
        if (format.changeLog && startDirStats) log(tx, changelog::initEnableDirStats());
        if (format.changeLog && startOwners) log(tx, changelog::initEnableUserGroupQuota());
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto text, tx.find<std::string>(key::setting()));
        return text && *text == json;
      }));
  setFormat(std::move(format));
  if (startOwners) TRY(countOwners(*store_));
  return {};
}

Result<Format> MetaImpl::load(bool checkVersion) {
  std::string json;
  TRY(read("load", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(auto text, tx.find<std::string>(key::setting()));
    if (!text) return Status(Code::notFormatted, "database is not formatted, please run `juicefs format ...` first");
    json = std::move(*text);
    return {};
  }));
  TRY_ASSIGN(auto format, parseFormat(json));
  if (checkVersion) TRY(checkCompatible(format, kVersion));
  TRY(decryptSecrets(format));
  setFormat(format);
  TRY(refreshUsage());  // tools without a session charge quotas too
  return format;
}

Status MetaImpl::refreshUsage() {
  std::map<QuotaKey, Quota> quotas;
  int64_t space = 0, inodes = 0;
  auto owners = formatNow()->userGroupQuota;
  TRY(read("refreshUsage", [&](MetaTxn& tx) -> Status {
    quotas.clear();
    TRY_ASSIGN(auto usedSpace, tx.find<int64_t>(key::counter(counter::kUsedSpace)));
    TRY_ASSIGN(auto totalInodes, tx.find<int64_t>(key::counter(counter::kTotalInodes)));
    space = usedSpace.value_or(0);
    inodes = totalInodes.value_or(0);
    for (auto kind : {Kind::dirQuota, Kind::userQuota, Kind::groupQuota}) {
      if (kind != Kind::dirQuota && !owners) continue;
      TRY(tx.list({.kind = kind}, [&, kind](const Key& key, const Value& value) {
        if (auto* q = std::get_if<Quota>(&value)) quotas[{kind, key.id}] = *q;
        return true;
      }));
    }
    return {};
  }));
  quotas_.setVolume(space, inodes);
  quotas_.replaceAll(std::move(quotas));
  return {};
}

Result<Ino> MetaImpl::ensureDir(Ino parent, const std::string& name) {
  auto ctx = Context::root();
  auto entry = lookup(ctx, parent, name);
  if (entry.is(Code::notFound) && !config_.readOnly) {
    Entry existing;
    entry = mknod(ctx, parent, name, FileType::directory, 0777, 0, 0, {}, &existing, 0);
    if (entry.is(Code::exists)) entry = existing;
  }
  if (!entry) return std::move(entry).status().annotate(name);
  if (!entry->attr.isDir()) return Status(Code::notDirectory, name + " is not a directory");
  return entry->ino;
}

Status MetaImpl::prepareRoot() {
  rootIno_ = kRootIno;
  Ino at = kRootIno;
  std::string_view rest = config_.subdir;
  while (!rest.empty()) {
    auto cut = rest.find('/');
    std::string part(rest.substr(0, cut));
    rest = cut == std::string_view::npos ? std::string_view() : rest.substr(cut + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") return Status(Code::config, "the sub-directory may not contain ..");
    TRY_ASSIGN(at, ensureDir(at, part));
  }
  rootIno_ = at;
  return {};
}

}  // namespace aquifer::meta
