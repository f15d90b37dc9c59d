#include "meta/model/codec.h"
#include "meta/store/sql/mapping.h"
#include "meta/store/sql/rows.h"

namespace aquifer::meta::sql {

namespace {

int64_t limitOf(size_t limit) { return limit > INT64_MAX ? INT64_MAX : static_cast<int64_t>(limit); }

bool isAclMax(const Key& key) { return key.kind == Kind::counter && key.name == counter::kAclMaxId; }

// Setting, counter and xattr names are TEXT, names in directories are BLOB.
void bindName(Kind kind, std::string_view name, Statement& s) {
  if (kind == Kind::dentry)
    s.bindBlob(name);
  else
    s.bindText(name);
}

void bindKey(const KindTable& table, const Key& key, Statement& s) {
  if (!table.id.empty()) s.bind(static_cast<int64_t>(key.id));
  if (!table.sub.empty()) s.bind(static_cast<int64_t>(key.sub));
  if (!table.name.empty()) bindName(key.kind, key.name, s);
}

Key readKey(Kind kind, const KindTable& table, Statement& row, int* column) {
  Key key{kind, 0, 0, {}};
  if (!table.id.empty()) key.id = static_cast<uint64_t>(row.integer((*column)++));
  if (!table.sub.empty()) key.sub = static_cast<uint64_t>(row.integer((*column)++));
  if (!table.name.empty()) key.name = row.bytes((*column)++);
  return key;
}

}  // namespace

Result<Use> Mapping::use(int id) {
  TRY_ASSIGN(auto* statement, db_.acquire(id, sql_.text(id)));
  return Use(db_, id, statement);
}

Result<std::optional<Value>> Mapping::get(const Key& key) {
  std::optional<Value> none;
  if (isAclMax(key)) return getAclMax();
  if (key.kind == Kind::session) return getSession(key);
  if (!sql_.has(key.kind)) return none;
  if (key.kind == Kind::flock || key.kind == Kind::plock) {
    std::optional<Value> found;
    TRY(listLocks(Range{key.kind, key.id, std::nullopt, 1}, [&](const Key&, const Value& v) {
      found = v;
      return false;
    }));
    return found;
  }
  if (key.kind == Kind::parentCount) {
    TRY_ASSIGN(auto q, use(Special::parentGet));
    q->bind(static_cast<int64_t>(key.id));
    q->bind(static_cast<int64_t>(key.sub));
    TRY_ASSIGN(bool row, q->step());
    if (!row || q->integer(0) == 0) return none;
    return std::optional<Value>(Value(q->integer(0)));
  }
  TRY_ASSIGN(auto q, use(key.kind, Shape::get));
  bindKey(*tableOf(key.kind), key, *q);
  TRY_ASSIGN(bool row, q->step());
  if (!row) return none;
  TRY_ASSIGN(auto value, readValue(key.kind, *q, 0));
  return std::optional<Value>(std::move(value));
}

Result<std::optional<Value>> Mapping::getAclMax() {
  if (!sql_.has(Kind::acl)) return std::optional<Value>();
  TRY_ASSIGN(auto q, use(Special::aclMaxGet));
  TRY_ASSIGN(bool row, q->step());
  if (!row) return std::optional<Value>();
  return std::optional<Value>(Value(q->integer(0)));
}

Result<std::optional<Value>> Mapping::getSession(const Key& key) {
  std::optional<Value> found;
  if (sql_.has(Kind::session)) {
    TRY_ASSIGN(auto q, use(Kind::session, Shape::get));
    q->bind(static_cast<int64_t>(key.id));
    TRY_ASSIGN(bool row, q->step());
    if (row) found = Value(SessionRecord{q->integer(0), std::string(q->bytes(1)), false});
  }
  if (!found && sql_.layout().hasTable("session")) {
    TRY_ASSIGN(auto q, use(Special::legacySessionGet));
    q->bind(static_cast<int64_t>(key.id));
    TRY_ASSIGN(bool row, q->step());
    if (row) found = Value(SessionRecord{q->integer(0), std::string(q->bytes(1)), true});
  }
  return found;
}

Result<std::optional<LookupResult>> Mapping::lookup(Ino parent, std::string_view name) {
  std::optional<LookupResult> found;
  if (!sql_.has(Kind::dentry) || !sql_.has(Kind::node)) return found;
  TRY_ASSIGN(auto q, use(Special::lookup));
  q->bind(static_cast<int64_t>(parent));
  q->bindBlob(name);
  TRY_ASSIGN(bool row, q->step());
  if (!row) return found;
  found = LookupResult{Dentry{static_cast<FileType>(q->integer(1)), static_cast<Ino>(q->integer(0))}, std::nullopt};
  if (q->integer(2) != 0) found->attr = readNode(*q, 3);
  return found;
}

Status Mapping::list(const Range& range, const Visit& visit) {
  if (range.kind == Kind::session && sql_.layout().hasTable("session")) return listSessionsOfBoth(range, visit);
  if (!sql_.has(range.kind)) return {};
  if (range.kind == Kind::flock || range.kind == Kind::plock) return listLocks(range, visit);
  if (range.kind == Kind::parentCount) return listParents(range, visit);
  return listRecords(range, visit);
}

Status Mapping::listRecords(const Range& range, const Visit& visit) {
  auto& table = *tableOf(range.kind);
  bool byId = range.id && !table.id.empty();
  bool compound = !table.id.empty() && !(table.sub.empty() && table.name.empty());
  bool after = range.after.has_value();
  if (byId && after) {
    if (range.after->id > *range.id || (range.after->id == *range.id && !compound)) return {};
    if (range.after->id < *range.id) after = false;
  }
  auto shape = byId ? (after ? Shape::listIdAfter : Shape::listId) : (after ? Shape::listAllAfter : Shape::listAll);
  TRY_ASSIGN(auto q, use(range.kind, shape));
  if (byId) q->bind(static_cast<int64_t>(*range.id));
  if (after) {
    if (!byId && !table.id.empty()) q->bind(static_cast<int64_t>(range.after->id));
    if (!table.sub.empty()) q->bind(static_cast<int64_t>(range.after->sub));
    if (!table.name.empty()) bindName(range.kind, range.after->name, *q);
  }
  q->bind(limitOf(range.limit));
  for (;;) {
    TRY_ASSIGN(bool row, q->step());
    if (!row) return {};
    int column = 0;
    auto key = readKey(range.kind, table, *q, &column);
    TRY_ASSIGN(auto value, readValue(range.kind, *q, column));
    if (!visit(key, value)) return {};
  }
}

Status Mapping::listSessionsOfBoth(const Range& range, const Visit& visit) {
  if (range.id) {
    auto key = key::session(*range.id);
    if (range.after && key <= *range.after) return {};
    TRY_ASSIGN(auto found, getSession(key));
    if (found) visit(key, *found);
    return {};
  }
  TRY_ASSIGN(auto q, use(Special::sessionListBoth));
  q->bind(range.after ? static_cast<int64_t>(range.after->id) : INT64_MIN);
  q->bind(limitOf(range.limit));
  for (;;) {
    TRY_ASSIGN(bool row, q->step());
    if (!row) return {};
    SessionRecord record{q->integer(1), std::string(q->bytes(2)), q->integer(3) != 0};
    if (!visit(key::session(static_cast<SessionId>(q->integer(0))), Value(std::move(record)))) return {};
  }
}

Status Mapping::listLocks(const Range& range, const Visit& visit) {
  bool flock = range.kind == Kind::flock;
  if (range.id && range.after && range.after->id >= *range.id) return {};
  auto statement =
      range.id ? (flock ? Special::flockList : Special::plockList) : (flock ? Special::flockListAll : Special::plockListAll);
  TRY_ASSIGN(auto q, use(statement));
  q->bind(range.id ? static_cast<int64_t>(*range.id) : range.after ? static_cast<int64_t>(range.after->id) : INT64_MIN);
  FlockTable flocks;
  PlockTable plocks;
  Ino current = 0;
  size_t left = range.limit;
  auto emit = [&] {
    if (flocks.empty() && plocks.empty()) return true;
    auto value = flock ? Value(std::exchange(flocks, {})) : Value(std::exchange(plocks, {}));
    return left-- > 0 && visit(Key{range.kind, current, 0, {}}, value) && left > 0;
  };
  for (;;) {
    TRY_ASSIGN(bool row, q->step());
    if (!row) break;
    auto ino = static_cast<Ino>(q->integer(0));
    if (ino != current && !emit()) return {};
    current = ino;
    auto sid = static_cast<SessionId>(q->integer(1));
    auto owner = static_cast<uint64_t>(q->integer(2));
    if (flock) {
      flocks.push_back({sid, owner, static_cast<char>(q->integer(3))});
    } else {
      TRY_ASSIGN(auto ranges, decodeLockRanges(q->bytes(3)));
      plocks.push_back({sid, owner, std::move(ranges)});
    }
  }
  emit();
  return {};
}

Status Mapping::listParents(const Range& range, const Visit& visit) {
  TRY_ASSIGN(auto q, use(range.id ? Special::parentList : Special::parentListAll));
  q->bind(range.id ? static_cast<int64_t>(*range.id) : range.after ? static_cast<int64_t>(range.after->id) : INT64_MIN);
  int column = range.id ? 0 : 1;
  for (size_t left = range.limit; left > 0;) {
    TRY_ASSIGN(bool row, q->step());
    if (!row) return {};
    auto key = key::parentCount(range.id ? *range.id : static_cast<Ino>(q->integer(0)), static_cast<Ino>(q->integer(column)));
    if (range.after && key <= *range.after) continue;
    --left;
    if (!visit(key, Value(q->integer(column + 1)))) return {};
  }
  return {};
}

Result<std::vector<DirEntry>> Mapping::listDir(Ino dir, std::string_view afterName, size_t limit, bool plus) {
  std::vector<DirEntry> out;
  if (!sql_.has(Kind::dentry) || !sql_.has(Kind::node)) return out;
  TRY_ASSIGN(auto q, use(plus ? Special::listDirPlus : Special::listDir));
  q->bind(static_cast<int64_t>(dir));
  q->bindBlob(afterName);
  q->bind(limitOf(limit));
  for (;;) {
    TRY_ASSIGN(bool row, q->step());
    if (!row) return out;
    auto& entry = out.emplace_back();
    entry.name = q->bytes(0);
    entry.dentry = {static_cast<FileType>(q->integer(2)), static_cast<Ino>(q->integer(1))};
    if (plus && q->integer(3) != 0) entry.attr = readNode(*q, 4);
  }
}

Result<bool> Mapping::isEmpty(Kind kind, uint64_t id) {
  if (kind == Kind::session) {
    TRY_ASSIGN(auto found, getSession(key::session(id)));
    return !found;
  }
  if (!sql_.has(kind)) return true;
  int statement = kind == Kind::flock         ? Statements::id(Special::flockExists)
                  : kind == Kind::plock       ? Statements::id(Special::plockExists)
                  : kind == Kind::parentCount ? Statements::id(Special::parentExists)
                                              : Statements::id(kind, Shape::exists);
  if (sql_.text(statement).empty()) {  // setting, counter: no id, so "any at all"
    bool empty = true;
    TRY(list(Range{kind, std::nullopt, std::nullopt, 1}, [&](const Key&, const Value&) { return empty = false; }));
    return empty;
  }
  TRY_ASSIGN(auto q, use(statement));
  q->bind(static_cast<int64_t>(id));
  TRY_ASSIGN(bool row, q->step());
  return !row;
}

Result<std::vector<std::pair<SliceId, uint32_t>>> Mapping::unusedSlices(size_t limit) {
  std::vector<std::pair<SliceId, uint32_t>> out;
  if (!sql_.has(Kind::sliceRef)) return out;
  TRY_ASSIGN(auto q, use(Special::unusedSlices));
  q->bind(limitOf(limit));
  for (;;) {
    TRY_ASSIGN(bool row, q->step());
    if (!row) return out;
    out.emplace_back(static_cast<SliceId>(q->integer(0)), static_cast<uint32_t>(q->integer(1)));
  }
}

}  // namespace aquifer::meta::sql
