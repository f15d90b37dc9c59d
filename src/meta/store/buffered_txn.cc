#include "meta/store/buffered_txn.h"

#include <fmt/core.h>

#include <exception>

namespace aquifer::meta {

namespace {

size_t plusErased(size_t limit, size_t erased) { return limit > SIZE_MAX - erased ? SIZE_MAX : limit + erased; }

bool isErased(const Change* c) { return c->base == Change::Base::erase; }

}  // namespace

Result<std::optional<Value>> BufferedTxn::overlay(const Key& key, const Change& change, uint32_t fields) {
  if (isErased(&change)) return std::optional<Value>();
  if (!change.isVerbs()) return std::optional<Value>(change.value);
  TRY_ASSIGN(auto stored, readRecord(key, fields));
  applyVerbs(key.kind, change, writes_.rules(), stored);
  return stored;
}

Result<std::optional<Value>> BufferedTxn::get(const Key& key, uint32_t fields) {
  if (key.kind == Kind::parentCount && writes_.rules().parentsFromDentries) return derivedParent(key);
  if (auto* change = writes_.find(key)) return overlay(key, *change, fields);
  return readRecord(key, fields);
}

Result<std::optional<LookupResult>> BufferedTxn::lookup(Ino parent, std::string_view name, uint32_t fields) {
  auto* change = writes_.empty() ? nullptr : writes_.find(key::dentry(parent, name));
  if (!change) {
    TRY_ASSIGN(auto found, readEntry(parent, name, fields));
    if (!found) return found;
    auto node = key::node(found->dentry.ino);
    if (auto* pending = writes_.find(node)) {
      std::optional<Value> v;
      if (pending->isVerbs()) {
        if (found->attr) v = Value(*found->attr);
        applyVerbs(Kind::node, *pending, writes_.rules(), v);
      } else if (!isErased(pending)) {
        v = pending->value;
      }
      auto* attr = v ? std::get_if<Attr>(&*v) : nullptr;
      found->attr = attr ? std::optional<Attr>(*attr) : std::nullopt;
    }
    return found;
  }
  auto* dentry = isErased(change) ? nullptr : std::get_if<Dentry>(&change->value);
  if (!dentry) return std::optional<LookupResult>();
  LookupResult out{*dentry, std::nullopt};
  TRY_ASSIGN(out.attr, find<Attr>(key::node(dentry->ino), fields));
  return std::optional<LookupResult>(std::move(out));
}

Status BufferedTxn::list(const Range& range, const Visit& visit) {
  if (range.limit == 0) return {};
  if (range.kind == Kind::parentCount && writes_.rules().parentsFromDentries && range.id) return listDerivedParents(range, visit);
  return mergedList(range, visit);
}

Status BufferedTxn::mergedList(const Range& range, const Visit& visit) {
  // Copied, since the visitor may write while it is being called.
  std::vector<std::pair<Key, Change>> pending;
  for (auto& [key, change] : writes_.within(range.kind, range.id))
    if (!range.after || *range.after < key) pending.emplace_back(key, *change);
  if (pending.empty()) return readRange(range, visit);

  size_t left = range.limit;
  auto emit = [&](const Key& key, const Value& value) {
    --left;
    return visit(key, value) && left > 0;
  };
  auto next = pending.begin();
  // What is pending and not stored: verbs alone may create a record too.
  auto emitPending = [&](const std::pair<Key, Change>& p) {
    std::optional<Value> v;
    if (p.second.isVerbs())
      applyVerbs(p.first.kind, p.second, writes_.rules(), v);
    else if (!isErased(&p.second))
      v = p.second.value;
    return !v || emit(p.first, *v);
  };
  Range wide = range;
  wide.limit = plusErased(range.limit, pending.size());
  bool stopped = false;
  TRY(readRange(wide, [&](const Key& key, const Value& value) {
    for (; next != pending.end() && next->first < key; ++next)
      if (!emitPending(*next)) {
        stopped = true;
        return false;
      }
    bool more = true;
    if (next != pending.end() && next->first == key) {
      std::optional<Value> v;
      if (next->second.isVerbs()) {
        v = value;
        applyVerbs(key.kind, next->second, writes_.rules(), v);
      } else if (!isErased(&next->second)) {
        v = next->second.value;
      }
      ++next;
      more = !v || emit(key, *v);
    } else {
      more = emit(key, value);
    }
    stopped = !more;
    return more;
  }));
  for (; !stopped && next != pending.end(); ++next) stopped = !emitPending(*next);
  return {};
}

Result<std::vector<DirEntry>> BufferedTxn::listDir(Ino dir, std::string_view afterName, size_t limit, bool plus) {
  std::vector<std::pair<Key, const Change*>> pending;
  for (auto& p : writes_.within(Kind::dentry, dir))
    if (p.first.name > afterName) pending.push_back(p);
  TRY_ASSIGN(auto stored, readDir(dir, afterName, plusErased(limit, pending.size()), plus));
  if (writes_.empty()) return stored;

  // With fewer entries than asked for, the store has told everything up to the end of the directory.
  bool complete = stored.size() < plusErased(limit, pending.size());
  std::string last = stored.empty() ? std::string() : stored.back().name;
  std::vector<DirEntry> out;
  auto next = pending.begin();
  auto takePending = [&](const std::pair<Key, const Change*>& p) {
    auto* dentry = isErased(p.second) ? nullptr : std::get_if<Dentry>(&p.second->value);
    if (dentry) out.push_back({p.first.name, *dentry, std::nullopt});
  };
  for (auto& entry : stored) {
    for (; next != pending.end() && next->first.name < entry.name; ++next) takePending(*next);
    if (next != pending.end() && next->first.name == entry.name)
      takePending(*next++);
    else
      out.push_back(std::move(entry));
  }
  for (; next != pending.end() && (complete || next->first.name <= last); ++next) takePending(*next);
  if (out.size() > limit) out.resize(limit);
  if (!plus) return out;
  for (auto& entry : out) {
    auto node = key::node(entry.dentry.ino);
    bool changed = writes_.find(node) != nullptr;
    if (entry.attr && !changed) continue;
    TRY_ASSIGN(entry.attr, find<Attr>(node));
  }
  return out;
}

Result<bool> BufferedTxn::isEmpty(Kind kind, uint64_t id) {
  auto pending = writes_.within(kind, id);
  if (pending.empty()) return readEmpty(kind, id);
  bool empty = true;
  TRY(list(Range{kind, id, std::nullopt, 1}, [&](const Key&, const Value&) {
    empty = false;
    return false;
  }));
  return empty;
}

void BufferedTxn::add(Key counterOrCount, int64_t delta) {
  Change verbs;
  verbs.added = true;
  verbs.delta = delta;
  writes_.verb(std::move(counterOrCount), std::move(verbs));
}

void BufferedTxn::addNlink(Ino dir, int delta) {
  Change verbs;
  verbs.nlink = delta;
  writes_.verb(key::node(dir), std::move(verbs));
}

void BufferedTxn::touch(Ino dir, Time now, int64_t skipNanos) {
  Change verbs;
  verbs.touches.push_back({now, skipNanos});
  writes_.verb(key::node(dir), std::move(verbs));
}

void BufferedTxn::appendSlice(Ino ino, uint32_t index, const Slice& slice, uint32_t* recordCount) {
  Change verbs;
  verbs.appended.push_back(slice);
  if (recordCount) verbs.recordCounts.push_back(recordCount);
  writes_.verb(key::chunk(ino, index), std::move(verbs));
}

void BufferedTxn::addDirStat(Ino dir, const DirStat& delta) {
  Change verbs;
  verbs.stat = delta;
  writes_.verb(key::dirStat(dir), std::move(verbs));
}

void BufferedTxn::addQuota(Kind kind, uint64_t id, int64_t space, int64_t inodes) {
  Change verbs;
  verbs.quota.usedSpace = space;
  verbs.quota.usedInodes = inodes;
  writes_.verb(Key{kind, id, 0, {}}, std::move(verbs));
}

Status BufferedTxn::pendingLinks(Ino ino, std::optional<Ino> parent, std::map<Ino, int64_t>& delta) {
  for (auto& [key, change] : writes_.within(Kind::dentry, parent)) {
    TRY_ASSIGN(auto stored, readRecord(key, kFieldsAll));
    if (auto* before = stored ? std::get_if<Dentry>(&*stored) : nullptr; before && before->ino == ino) --delta[key.id];
    if (isErased(change)) continue;
    if (auto* after = std::get_if<Dentry>(&change->value); after && after->ino == ino) ++delta[key.id];
  }
  return {};
}

Result<std::optional<Value>> BufferedTxn::derivedParent(const Key& key) {
  TRY_ASSIGN(auto stored, readRecord(key, kFieldsAll));
  std::map<Ino, int64_t> delta;
  TRY(pendingLinks(key.id, key.sub, delta));
  int64_t count = delta[key.sub];
  if (stored)
    if (auto* n = std::get_if<int64_t>(&*stored)) count += *n;
  if (count <= 0) return std::optional<Value>();
  return std::optional<Value>(Value(count));
}

Status BufferedTxn::listDerivedParents(const Range& range, const Visit& visit) {
  std::map<Ino, int64_t> counts;
  Range all{Kind::parentCount, range.id};
  TRY(readRange(all, [&](const Key& key, const Value& value) {
    if (auto* n = std::get_if<int64_t>(&value)) counts[key.sub] += *n;
    return true;
  }));
  TRY(pendingLinks(*range.id, std::nullopt, counts));
  size_t left = range.limit;
  for (auto& [parent, count] : counts) {
    auto key = key::parentCount(*range.id, parent);
    if (count <= 0 || (range.after && key <= *range.after)) continue;
    if (left-- == 0 || !visit(key, Value(count))) break;
  }
  return {};
}

Status runBody(const TxnBody& body, MetaTxn& txn) {
  try {
    return body(txn);
  } catch (const std::exception& e) {
    return Status(Code::io, fmt::format("exception in a transaction: {}", e.what()));
  } catch (...) {
    return Status(Code::io, "exception in a transaction");
  }
}

}  // namespace aquifer::meta
