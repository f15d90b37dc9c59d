#include "base/clock.h"
#include "base/log.h"
#include "meta/jobs/cleanup.h"
#include "meta/jobs/records.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr size_t kHoursAtOnce = 1000;
constexpr int64_t kHour = 3600, kDay = 86400;

}  // namespace

Status removeTrashHour(MetaImpl& meta, const std::string& name, Ino ino) {
  Charge charge(meta);
  TRY(meta.txn(
      "removeTrashHour",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY_ASSIGN(const auto entry, tx.find<Dentry>(key::dentry(kTrashIno, name)));
        if (!entry || entry->ino != ino) return {};
        tx.exclusive(ino);
        TRY_ASSIGN(const bool empty, tx.isEmpty(Kind::dentry, ino));
        if (!empty) return Code::notEmpty;
        TRY_ASSIGN(const auto attr, tx.find<Attr>(key::node(ino)));
        tx.erase(key::dentry(kTrashIno, name));
        if (meta.logging()) meta.log(tx, changelog::rmdir(kTrashIno, name, 0, ino));
        if (attr) TRY(meta.dropNode(tx, ino, *attr, MetaImpl::now(), charge, false));
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; }));
  charge.committed();
  return {};
}

Status cleanTrash(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed) {
  const int64_t keep = int64_t{meta.formatNow()->trashDays} * kDay + 2 * kHour;
  std::string after;
  for (;;) {
    std::vector<DirEntry> hours;
    TRY(meta.read("trash", [&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(hours, tx.listDir(kTrashIno, after, kHoursAtOnce, false));
      return {};
    }));
    for (const auto& h : hours) {
      if (!goOn()) return {};
      int64_t at = 0;
      if (h.dentry.type != FileType::directory || !parseHourNameUtc(h.name, &at)) continue;  // put there by a person
      if (at >= now - keep) return {};                                                       // names sort by time
      const MetaImpl::Step step = [&](uint64_t nodes) {
        *removed += nodes;
        return goOn();
      };
      auto s = meta.emptyDir(Context::root(), h.dentry.ino, true, step);
      if (s.is(Code::interrupted)) return {};
      if (s) s = removeTrashHour(meta, h.name, h.dentry.ino);
      if (!s) LOG_WARN("clean trash {}: {}", h.name, s.text());
    }
    if (hours.size() < kHoursAtOnce) return {};
    after = hours.back().name;
  }
}

Status cleanDelayedSlices(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed) {
  const int64_t edge = now - int64_t{meta.formatNow()->trashDays} * kDay;
  return eachJobRecord(meta, Kind::delSlices, [&](const Key& key, const Value&) {
    if (!goOn()) return false;
    if (static_cast<int64_t>(key.sub) > edge) return true;
    std::vector<DelayedSlice> unused;
    auto s = meta.txn(
        "releaseSlices",
        [&](MetaTxn& tx) -> Status {
          unused.clear();
          TRY_ASSIGN(const auto slices, tx.find<DelayedList>(key));
          if (!slices) return {};
          for (const auto& d : *slices) {
            TRY_ASSIGN(const bool none, meta.addSliceRef(tx, d.id, d.size, -1));
            if (none) unused.push_back(d);
          }
          tx.erase(key);
          if (meta.logging()) meta.log(tx, changelog::cleanupDelayedSlices(key.id, static_cast<int64_t>(key.sub)));
          return {};
        },
        [](MetaTxn&) -> Result<bool> { return false; });
    if (!s) LOG_WARN("release slices replaced by {}: {}", key.id, s.text());
    for (const auto& d : unused) {
      if (auto deleted = meta.deleteSlice(d.id, d.size); !deleted)
        LOG_WARN("delete slice {} ({} bytes): {}", d.id, d.size, deleted.text());
      else
        ++*removed;
    }
    return true;
  });
}

}  // namespace aquifer::meta
