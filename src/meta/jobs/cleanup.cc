#include "meta/jobs/cleanup.h"

#include "base/log.h"
#include "meta/jobs/records.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr int64_t kLegacyLifetime = 300;  // clients before 1.0 stored when they were last seen
constexpr size_t kMostSessions = 1000;
constexpr uint64_t kMostFiles = 600'000;
constexpr size_t kSlicePage = 1000;
constexpr int64_t kDetachedLifetime = 24 * 3600;

}  // namespace

Status cleanStaleSessions(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed) {
  std::vector<SessionId> stale;
  TRY(eachJobRecord(meta, Kind::session, [&](const Key& key, const Value& value) {
    const auto* record = std::get_if<SessionRecord>(&value);
    if (record && record->expire + (record->legacy ? kLegacyLifetime : 0) < now && key.id != meta.sid()) stale.push_back(key.id);
    return stale.size() < kMostSessions;
  }));
  for (const SessionId sid : stale) {
    if (!goOn()) return {};
    if (auto s = meta.cleanSession(sid); !s) {
      LOG_WARN("clean stale session {}: {}", sid, s.text());
      continue;
    }
    LOG_INFO("stale session {} is removed", sid);
    ++*removed;
  }
  return {};
}

Status cleanDeletedFiles(MetaImpl& meta, int64_t now, int64_t age, const GoOn& goOn, uint64_t* removed) {
  uint64_t tried = 0;
  return eachJobRecord(meta, Kind::delFile, [&](const Key& key, const Value& value) {
    const auto* at = std::get_if<int64_t>(&value);
    if (!goOn() || tried >= kMostFiles) return false;
    if (!at || *at > now - age) return true;
    ++tried;
    if (auto s = meta.purgeFile(key.id, key.sub); !s)
      LOG_WARN("purge deleted inode {} ({} bytes): {}", key.id, key.sub, s.text());
    else
      ++*removed;
    return true;
  });
}

Status cleanUnusedSlices(MetaImpl& meta, const GoOn& goOn, uint64_t* removed) {
  if (meta.config().maxDeletes == 0 || !meta.dataHooks().deleteSlice) return {};
  for (size_t page = kSlicePage;;) {
    TRY_ASSIGN(const auto slices, meta.store().unusedSlices(page));
    const uint64_t before = *removed;
    for (const auto& [id, size] : slices) {
      if (!goOn()) return {};
      if (auto s = meta.deleteSlice(id, size); !s)
        LOG_WARN("delete unused slice {} ({} bytes): {}", id, size, s.text());
      else
        ++*removed;
    }
    // What failed comes back at the front: no further than that when nothing else is left.
    if (slices.size() < page || *removed == before) return {};
  }
}

Status cleanDetached(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed) {
  return eachJobRecord(meta, Kind::detached, [&](const Key& key, const Value& value) {
    const auto* at = std::get_if<int64_t>(&value);
    if (!goOn()) return false;
    if (!at || *at > now - kDetachedLifetime) return true;
    if (auto s = meta.removeDetached(key.id); !s)
      LOG_WARN("remove detached inode {}: {}", key.id, s.text());
    else
      ++*removed;
    return true;
  });
}

}  // namespace aquifer::meta
