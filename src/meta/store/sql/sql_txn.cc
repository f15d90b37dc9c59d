#include "meta/store/sql/sql_txn.h"

namespace aquifer::meta::sql {

bool GroupVerbs::takes(const Key& key, const Change& change) {
  if (!change.isVerbs()) return false;
  switch (key.kind) {
    case Kind::dirStat:
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: return true;
    case Kind::counter: return key.name != counter::kAclMaxId;
    default: return false;
  }
}

void GroupVerbs::add(const Key& key, const Change& change) {
  auto [it, fresh] = pending_.try_emplace(key, change);
  if (!fresh) WriteSet::mergeVerbs(it->second, change);
}

const Change* GroupVerbs::find(const Key& key) const {
  if (pending_.empty()) return nullptr;
  auto it = pending_.find(key);
  return it == pending_.end() ? nullptr : &it->second;
}

bool GroupVerbs::touches(Kind kind) const {
  auto it = pending_.lower_bound(Key{kind, 0, 0, {}});
  return it != pending_.end() && it->first.kind == kind;
}

Status GroupVerbs::flush(Mapping& mapping) {
  for (auto& [key, change] : pending_) TRY(mapping.apply(key, change));
  pending_.clear();
  return {};
}

Status SqlTxn::apply() {
  for (auto& [key, change] : writes().changes()) {
    if (GroupVerbs::takes(key, change)) {
      group_.add(key, change);
      continue;
    }
    if (!change.isVerbs()) group_.forget(key);
    TRY(mapping_.apply(key, change));
  }
  for (auto& entry : writes().logs()) TRY(mapping_.log(entry));
  return {};
}

Result<std::optional<Value>> SqlTxn::readRecord(const Key& key, uint32_t) {
  TRY_ASSIGN(auto value, mapping_.get(key));
  if (auto* pending = group_.find(key)) applyVerbs(key.kind, *pending, kSqlRules, value);
  return value;
}

Result<std::optional<LookupResult>> SqlTxn::readEntry(Ino parent, std::string_view name, uint32_t) {
  return mapping_.lookup(parent, name);
}

Status SqlTxn::readRange(const Range& range, const Visit& visit) {
  // A listing of the hot kinds is rare: write what is pending first instead of merging it into the rows.
  if (group_.touches(range.kind)) TRY(group_.flush(mapping_));
  return mapping_.list(range, visit);
}

Result<std::vector<DirEntry>> SqlTxn::readDir(Ino dir, std::string_view afterName, size_t limit, bool plus) {
  return mapping_.listDir(dir, afterName, limit, plus);
}

Result<bool> SqlTxn::readEmpty(Kind kind, uint64_t id) {
  if (group_.touches(kind)) TRY(group_.flush(mapping_));
  return mapping_.isEmpty(kind, id);
}

}  // namespace aquifer::meta::sql
