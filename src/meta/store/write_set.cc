#include "meta/store/write_set.h"

namespace aquifer::meta {

namespace {

template <class T>
T* as(std::optional<Value>& v) {
  return v ? std::get_if<T>(&*v) : nullptr;
}

void applyToNode(const Change& verbs, Attr& attr) {
  attr.nlink = static_cast<uint32_t>(static_cast<int64_t>(attr.nlink) + verbs.nlink);
  for (const auto& touch : verbs.touches)
    if (touch.due(attr.mtime)) attr.mtime = attr.ctime = touch.now;
}

void applyToQuota(Kind kind, const Change& verbs, std::optional<Value>& v) {
  if (!v && kind != Kind::dirQuota) v = Value(Quota{});
  if (auto* quota = as<Quota>(v)) {
    quota->usedSpace += verbs.quota.usedSpace;
    quota->usedInodes += verbs.quota.usedInodes;
  }
}

void applyAdd(Kind kind, const Change& verbs, const OverlayRules& rules, std::optional<Value>& v) {
  if (!v) {
    if (kind == Kind::sliceRef && !rules.absentRefIsOne) return;
    v = Value(int64_t{kind == Kind::sliceRef ? 1 : 0});
  }
  if (auto* n = as<int64_t>(v)) *n += verbs.delta;
}

bool isEmptyTable(const Value& v) {
  if (auto* flocks = std::get_if<FlockTable>(&v)) return flocks->empty();
  if (auto* plocks = std::get_if<PlockTable>(&v)) return plocks->empty();
  return false;
}

}  // namespace

void applyVerbs(Kind kind, const Change& verbs, const OverlayRules& rules, std::optional<Value>& v) {
  switch (kind) {
    case Kind::node:
      if (auto* attr = as<Attr>(v)) applyToNode(verbs, *attr);
      break;
    case Kind::chunk:
      if (verbs.appended.empty()) break;
      if (!v) v = Value(SliceList{});
      if (auto* list = as<SliceList>(v)) list->insert(list->end(), verbs.appended.begin(), verbs.appended.end());
      break;
    case Kind::dirStat:
      if (auto* stat = as<DirStat>(v)) {
        stat->length += verbs.stat.length;
        stat->space += verbs.stat.space;
        stat->inodes += verbs.stat.inodes;
      }
      break;
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: applyToQuota(kind, verbs, v); break;
    default:
      if (verbs.added) applyAdd(kind, verbs, rules, v);
  }
}

void WriteSet::put(Key key, Value value, Change::Base base) {
  if (key.kind == Kind::parentCount && rules_.parentsFromDentries) return;
  // A lock table without holders is the absence of the record, on every layout.
  if (isEmptyTable(value)) return erase(std::move(key));
  auto& change = changes_[std::move(key)];
  if (change.base != Change::Base::stored) base = Change::Base::put;
  auto counts = std::move(change.recordCounts);
  change = Change{};
  change.base = base;
  change.value = std::move(value);
  change.recordCounts = std::move(counts);
}

void WriteSet::erase(Key key) {
  if (key.kind == Kind::parentCount && rules_.parentsFromDentries) return;
  auto& change = changes_[std::move(key)];
  auto counts = std::move(change.recordCounts);
  change = Change{};
  change.base = Change::Base::erase;
  change.recordCounts = std::move(counts);
}

void WriteSet::mergeVerbs(Change& into, const Change& from) {
  into.added |= from.added;
  into.delta += from.delta;
  into.nlink += from.nlink;
  into.touches.insert(into.touches.end(), from.touches.begin(), from.touches.end());
  into.appended.insert(into.appended.end(), from.appended.begin(), from.appended.end());
  into.stat.length += from.stat.length;
  into.stat.space += from.stat.space;
  into.stat.inodes += from.stat.inodes;
  into.quota.usedSpace += from.quota.usedSpace;
  into.quota.usedInodes += from.quota.usedInodes;
  into.recordCounts.insert(into.recordCounts.end(), from.recordCounts.begin(), from.recordCounts.end());
}

void WriteSet::verb(Key key, Change verbs) {
  if (key.kind == Kind::parentCount && rules_.parentsFromDentries) return;
  auto kind = key.kind;
  auto [it, fresh] = changes_.try_emplace(std::move(key));
  auto& change = it->second;
  if (change.isVerbs()) {
    if (fresh)
      change = std::move(verbs);
    else
      mergeVerbs(change, verbs);
    return;
  }
  std::optional<Value> current;
  if (change.base != Change::Base::erase) current = std::move(change.value);
  applyVerbs(kind, verbs, rules_, current);
  if (current) {
    if (change.base == Change::Base::erase) change.base = Change::Base::put;
    change.value = std::move(*current);
  }
  change.recordCounts.insert(change.recordCounts.end(), verbs.recordCounts.begin(), verbs.recordCounts.end());
}

const Change* WriteSet::find(const Key& key) const {
  if (changes_.empty()) return nullptr;
  auto it = changes_.find(key);
  return it == changes_.end() ? nullptr : &it->second;
}

std::vector<std::pair<Key, const Change*>> WriteSet::within(Kind kind, const std::optional<uint64_t>& id) const {
  std::vector<std::pair<Key, const Change*>> out;
  for (auto it = changes_.lower_bound(Key{kind, id.value_or(0), 0, {}}); it != changes_.end(); ++it) {
    if (it->first.kind != kind || (id && it->first.id != *id)) break;
    out.emplace_back(it->first, &it->second);
  }
  return out;
}

}  // namespace aquifer::meta
