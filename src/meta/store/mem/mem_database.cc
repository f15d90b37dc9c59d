#include "meta/store/mem/mem_database.h"

#include <algorithm>

namespace aquifer::meta::mem {

namespace {

constexpr size_t kGuardsKept = 4096;

bool sameAttr(const Attr& a, const Attr& b, uint32_t fields) {
  auto differ = [&](uint32_t field, bool equal) { return (fields & field) && !equal; };
  return !(differ(kFieldFlags, a.flags == b.flags) || differ(kFieldType, a.type == b.type) ||
           differ(kFieldMode, a.mode == b.mode) || differ(kFieldOwner, a.uid == b.uid && a.gid == b.gid) ||
           differ(kFieldTimes, a.atime == b.atime && a.mtime == b.mtime && a.ctime == b.ctime) ||
           differ(kFieldNlink, a.nlink == b.nlink) || differ(kFieldLength, a.length == b.length) ||
           differ(kFieldParent, a.parent == b.parent) ||
           differ(kFieldAcl, a.accessAcl == b.accessAcl && a.defaultAcl == b.defaultAcl) ||
           differ(kFieldTier, a.tier == b.tier) || differ(kFieldRdev, a.rdev == b.rdev));
}

}  // namespace

bool sameFields(const std::optional<Value>& a, const std::optional<Value>& b, uint32_t fields) {
  if (a.has_value() != b.has_value()) return false;
  if (!a) return true;
  auto *left = std::get_if<Attr>(&*a), *right = std::get_if<Attr>(&*b);
  return left && right ? sameAttr(*left, *right, fields) : *a == *b;
}

const Value* Database::find(const Key& key, uint64_t at) const {
  auto it = records.find(key);
  if (it == records.end()) return nullptr;
  for (auto v = it->second.rbegin(); v != it->second.rend(); ++v)
    if (v->at <= at) return v->value ? &*v->value : nullptr;
  return nullptr;
}

std::map<Key, std::vector<Version>>::const_iterator Database::first(const Seen& range) const {
  Key start{range.kind, range.id.value_or(0), 0, {}};
  if (range.after && start <= *range.after) return records.upper_bound(*range.after);
  return records.lower_bound(start);
}

bool Database::within(const Key& key, const Seen& range) {
  return key.kind == range.kind && (!range.id || key.id == *range.id) && (!range.upTo || key <= *range.upTo);
}

bool Database::recordHolds(const Key& key, uint32_t fields, uint64_t snapshot) const {
  auto it = records.find(key);
  if (it == records.end() || it->second.back().at <= snapshot) return true;
  if (key.kind != Kind::node || fields == kFieldsAll) return false;
  auto* seen = find(key, snapshot);
  auto before = seen ? std::optional<Value>(*seen) : std::nullopt;
  // Each state in between: a node that went away and came back alike is another one.
  return std::all_of(it->second.begin(), it->second.end(),
                     [&](const Version& v) { return v.at <= snapshot || sameFields(before, v.value, fields); });
}

bool Database::guardsHold(const ReadSet& reads, uint64_t snapshot) const {
  auto times = [&](Ino dir) {
    auto it = guards_.find(dir);
    return it == guards_.end() ? GuardTimes{} : it->second;
  };
  for (auto dir : reads.shared) {
    if (times(dir).exclusive > snapshot) return false;
    if (find(key::node(dir), snapshot) && !find(key::node(dir), now)) return false;
  }
  return std::all_of(reads.exclusive.begin(), reads.exclusive.end(),
                     [&](Ino dir) { return times(dir).exclusive <= snapshot && times(dir).shared <= snapshot; });
}

bool Database::holds(const ReadSet& reads, uint64_t snapshot) const {
  if (now == snapshot) return true;
  for (auto& [key, fields] : reads.fields)
    if (!recordHolds(key, fields, snapshot)) return false;
  for (auto& range : reads.ranges)
    for (auto it = first(range); it != records.end() && within(it->first, range); ++it)
      if (it->second.back().at > snapshot) return false;
  return guardsHold(reads, snapshot);
}

void Database::write(const Key& key, std::optional<Value> value) {
  auto& versions = records[key];
  bool tombstone = !value;
  versions.push_back({now, std::move(value)});
  // Keep what running transactions can still see: the newest version at or before the oldest snapshot, and all after it.
  auto oldest = oldestSnapshot();
  auto keep = std::find_if(versions.rbegin(), versions.rend(), [&](const Version& v) { return v.at <= oldest; });
  if (keep != versions.rend()) versions.erase(versions.begin(), std::next(keep).base());
  if (tombstone) tombstones_.emplace_back(now, key);
}

Status Database::apply(const WriteSet& writes, const ReadSet& reads) {
  for (auto& [key, change] : writes.changes())
    if (change.base == Change::Base::insert && find(key, now)) return Code::conflict;
  ++now;
  for (auto& [key, change] : writes.changes()) {
    std::optional<Value> value;
    auto* stored = find(key, now - 1);
    if (change.isVerbs()) {
      if (stored) value = *stored;
      applyVerbs(key.kind, change, kMemRules, value);
    } else if (change.base != Change::Base::erase) {
      value = change.value;
    }
    if (auto* slices = value ? std::get_if<SliceList>(&*value) : nullptr)
      for (auto* count : change.recordCounts) *count = static_cast<uint32_t>(slices->size());
    if (value || stored) write(key, std::move(value));
  }
  for (auto& entry : writes.logs()) write(Key{Kind::changeLog, ++lastLog, 0, {}}, Value(entry));
  for (auto dir : reads.shared) guards_[dir].shared = now;
  for (auto dir : reads.exclusive) guards_[dir].exclusive = now;
  if (guards_.size() > kGuardsKept)
    std::erase_if(guards_, [&](auto& g) { return std::max(g.second.shared, g.second.exclusive) <= oldestSnapshot(); });
  return {};
}

void Database::dropAll() {
  ++now;
  std::vector<Key> keys;
  for (auto& [key, versions] : records)
    if (versions.back().value) keys.push_back(key);
  for (auto& key : keys) write(key, std::nullopt);
}

void Database::end(uint64_t snapshot) {
  snapshots.erase(snapshots.find(snapshot));
  auto oldest = oldestSnapshot();
  for (; !tombstones_.empty() && tombstones_.front().first <= oldest; tombstones_.pop_front()) {
    auto it = records.find(tombstones_.front().second);
    if (it != records.end() && it->second.back().at == tombstones_.front().first) records.erase(it);
  }
}

}  // namespace aquifer::meta::mem
