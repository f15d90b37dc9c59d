#include <fmt/core.h>

#include "meta/model/codec.h"
#include "meta/store/sql/mapping.h"
#include "meta/store/sql/rows.h"

namespace aquifer::meta::sql {

namespace {

constexpr size_t kSliceBytes = 24;

void bindKey(const Key& key, Statement& s) {
  auto& table = *tableOf(key.kind);
  if (!table.id.empty()) s.bind(static_cast<int64_t>(key.id));
  if (!table.sub.empty()) s.bind(static_cast<int64_t>(key.sub));
  if (table.name.empty()) return;
  if (key.kind == Kind::dentry)
    s.bindBlob(key.name);
  else
    s.bindText(key.name);
}

void report(const Change& change, size_t records) {
  for (auto* count : change.recordCounts) *count = static_cast<uint32_t>(records);
}

}  // namespace

Status Mapping::runOnce(Use& statement) {
  TRY(statement->step());
  return {};
}

Result<int64_t> Mapping::runCounting(Use& statement) {
  TRY(statement->step());
  return db_.changedRows();
}

Status Mapping::apply(const Key& key, const Change& change) {
  if (!sql_.has(key.kind)) {
    // There is nothing to remove or to count up; only a put needs the table.
    if (change.isVerbs() || change.base == Change::Base::erase) return {};
    return Status(Code::corrupt, fmt::format("the table of record kind {} is missing", static_cast<int>(key.kind)));
  }
  switch (change.base) {
    case Change::Base::stored: return applyVerbs(key, change);
    case Change::Base::erase: return erase(key);
    default: return write(key, change);
  }
}

Status Mapping::write(const Key& key, const Change& change) {
  if (key.kind == Kind::flock || key.kind == Kind::plock) return writeLocks(key, change.value);
  if (key.kind == Kind::counter && key.name == counter::kAclMaxId) {
    auto* n = std::get_if<int64_t>(&change.value);
    return n ? putAclMax(*n) : Status(Code::corrupt, "a counter is a number");
  }
  if (auto* slices = std::get_if<SliceList>(&change.value)) report(change, slices->size());
  TRY_ASSIGN(auto q, use(key.kind, change.base == Change::Base::insert ? Shape::insert : Shape::put));
  std::vector<std::string> scratch;
  bindKey(key, *q);
  TRY(bindValue(key.kind, change.value, sql_.nodeColumns(), *q, scratch));
  TRY(runOnce(q));
  // A session of an old client that is written again has become a new one.
  if (key.kind == Kind::session && sql_.layout().hasTable("session")) {
    TRY_ASSIGN(auto old, use(Special::legacySessionErase));
    old->bind(static_cast<int64_t>(key.id));
    TRY(runOnce(old));
  }
  return {};
}

Status Mapping::erase(const Key& key) {
  if (key.kind == Kind::flock || key.kind == Kind::plock) return writeLocks(key, Value(FlockTable{}));
  if (key.kind == Kind::counter && key.name == counter::kAclMaxId) return {};
  TRY_ASSIGN(auto q, use(key.kind, Shape::erase));
  bindKey(key, *q);
  TRY(runOnce(q));
  if (key.kind == Kind::session && sql_.layout().hasTable("session")) {
    TRY_ASSIGN(auto old, use(Special::legacySessionErase));
    old->bind(static_cast<int64_t>(key.id));
    TRY(runOnce(old));
  }
  return {};
}

Status Mapping::putAclMax(int64_t value) {
  TRY_ASSIGN(auto q, use(Special::aclMaxPut));
  q->bind(value);
  TRY_ASSIGN(auto rows, runCounting(q));
  if (rows > 0) return {};
  TRY_ASSIGN(auto first, use(Special::aclMaxInit));
  first->bind(value);
  return runOnce(first);
}

Status Mapping::writeLocks(const Key& key, const Value& value) {
  bool flock = key.kind == Kind::flock;
  TRY_ASSIGN(auto clear, use(flock ? Special::flockErase : Special::plockErase));
  clear->bind(static_cast<int64_t>(key.id));
  TRY(runOnce(clear));
  TRY_ASSIGN(auto q, use(flock ? Special::flockInsert : Special::plockInsert));
  auto row = [&](SessionId sid, uint64_t owner) {
    q->reset();
    q->bind(static_cast<int64_t>(key.id));
    q->bind(static_cast<int64_t>(sid));
    q->bind(static_cast<int64_t>(owner));
  };
  if (auto* flocks = std::get_if<FlockTable>(&value)) {
    for (auto& holder : *flocks) {
      row(holder.sid, holder.owner);
      q->bind(int64_t{holder.type});
      TRY(runOnce(q));
    }
  } else if (auto* plocks = std::get_if<PlockTable>(&value)) {
    for (auto& holder : *plocks) {
      auto bytes = encodeLockRanges(holder.ranges);
      row(holder.sid, holder.owner);
      q->bindBlob(bytes);
      TRY(runOnce(q));
    }
  }
  return {};
}

Status Mapping::applyVerbs(const Key& key, const Change& verbs) {
  switch (key.kind) {
    case Kind::node: return changeNode(key, verbs);
    case Kind::chunk: return appendChunk(key, verbs);
    case Kind::dirStat: {
      TRY_ASSIGN(auto q, use(Special::addDirStat));
      for (auto v : {verbs.stat.length, verbs.stat.space, verbs.stat.inodes, static_cast<int64_t>(key.id)}) q->bind(v);
      return runOnce(q);
    }
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: return addQuota(key, verbs.quota);
    default: return verbs.added ? addNumber(key, verbs.delta) : Status();
  }
}

Status Mapping::addNumber(const Key& key, int64_t delta) {
  if (key.kind == Kind::sliceRef) {
    // A missing row stays missing: a count made up here could free data that others still refer to.
    TRY_ASSIGN(auto q, use(Special::addRef));
    for (auto v : {delta, static_cast<int64_t>(key.id), static_cast<int64_t>(key.sub)}) q->bind(v);
    return runOnce(q);
  }
  if (key.kind != Kind::counter) return Status(Code::invalid, "this record cannot be counted up");
  if (key.name == counter::kAclMaxId) {
    TRY_ASSIGN(auto now, getAclMax());
    return putAclMax((now ? std::get<int64_t>(*now) : 0) + delta);
  }
  {
    TRY_ASSIGN(auto q, use(Special::addCounter));
    q->bind(delta);
    q->bindText(key.name);
    TRY_ASSIGN(auto rows, runCounting(q));
    if (rows > 0) return {};
  }
  TRY_ASSIGN(auto q, use(Special::initCounter));
  q->bindText(key.name);
  q->bind(delta);
  return runOnce(q);
}

Status Mapping::changeNode(const Key& key, const Change& verbs) {
  if (verbs.nlink != 0) {
    TRY_ASSIGN(auto q, use(Special::addNlink));
    q->bind(verbs.nlink);
    q->bind(static_cast<int64_t>(key.id));
    TRY(runOnce(q));
  }
  for (auto& touch : verbs.touches) {
    TRY_ASSIGN(auto q, use(Special::touch));
    q->bind(microsOf(touch.now));
    q->bind(restNanosOf(touch.now));
    q->bind(static_cast<int64_t>(key.id));
    q->bind(touch.now.nanos() - touch.skipNanos);
    TRY(runOnce(q));
  }
  return {};
}

Status Mapping::appendChunk(const Key& key, const Change& verbs) {
  if (verbs.appended.empty()) return {};
  auto bytes = encodeSlices(verbs.appended);
  {
    TRY_ASSIGN(auto q, use(Special::appendChunk));
    q->bindBlob(bytes);
    q->bind(static_cast<int64_t>(key.id));
    q->bind(static_cast<int64_t>(key.sub));
    TRY_ASSIGN(bool row, q->step());
    if (row) {
      report(verbs, static_cast<size_t>(q->integer(0)) / kSliceBytes);
      TRY(q->step());  // to the end, so that the statement is done
      return {};
    }
  }
  TRY_ASSIGN(auto q, use(Kind::chunk, Shape::insert));
  bindKey(key, *q);
  q->bindBlob(bytes);
  report(verbs, verbs.appended.size());
  return runOnce(q);
}

Status Mapping::addQuota(const Key& key, const Quota& delta) {
  auto id = static_cast<int64_t>(key.id);
  {
    TRY_ASSIGN(auto q, use(key.kind == Kind::dirQuota    ? Special::addDirQuota
                           : key.kind == Kind::userQuota ? Special::addUserQuota
                                                         : Special::addGroupQuota));
    for (auto v : {delta.usedSpace, delta.usedInodes, id}) q->bind(v);
    TRY_ASSIGN(auto rows, runCounting(q));
    if (rows > 0 || key.kind == Kind::dirQuota) return {};
  }
  TRY_ASSIGN(auto q, use(key.kind == Kind::userQuota ? Special::initUserQuota : Special::initGroupQuota));
  for (auto v : {id, delta.usedSpace, delta.usedInodes}) q->bind(v);
  return runOnce(q);
}

Status Mapping::log(const std::string& entry) {
  if (!sql_.has(Kind::changeLog)) return {};
  TRY_ASSIGN(auto q, use(Special::log));
  q->bindText(entry);
  return runOnce(q);
}

}  // namespace aquifer::meta::sql
