// Listings. Most kinds are found by scans; what belongs to one inode has a key, or keys that can be counted.
#include <algorithm>

#include "meta/model/codec.h"
#include "meta/store/redis/redis_txn.h"

namespace aquifer::meta::redis {

namespace {

using Type = NumberSource::Type;

constexpr size_t kPage = 256;  // records read at once
constexpr size_t kNodesAtOnce = 1000;
constexpr uint64_t kMostProbes = 10'000;  // chunk numbers tried one by one; beyond it a scan is cheaper
constexpr size_t kMostChecked = 10'000;   // entries of one directory that a commit compares one by one

constexpr std::string_view kCounters[] = {counter::kAclMaxId,          counter::kLastCleanupChangelog,
                                          counter::kLastCleanupFiles,  counter::kLastCleanupSessions,
                                          counter::kLastCleanupTrash,  counter::kNextChunk,
                                          counter::kNextCleanupSlices, counter::kNextInode,
                                          counter::kNextSession,       counter::kNextTrash,
                                          counter::kTotalInodes,       counter::kUsedSpace};

// Where the numbers of a kind are, for kinds whose records are found by their numbers alone.
std::optional<NumberSource> flatSource(Kind kind) {
  switch (kind) {
    case Kind::node: return NumberSource{Type::keys, "i[0-9]*", "i", 0};
    case Kind::chunk: return NumberSource{Type::keys, "c[0-9]*_*", "c", '_'};
    case Kind::symlink: return NumberSource{Type::keys, "s[0-9]*", "s", 0};
    case Kind::sliceRef: return NumberSource{Type::fields, "sliceRef", "k", '_'};
    case Kind::delFile: return NumberSource{Type::scores, "delfiles", "", ':'};
    case Kind::delSlices: return NumberSource{Type::fields, "delSlices", "", '_'};
    case Kind::dirStat: return NumberSource{Type::fields, "dirUsedSpace", "", 0};
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: return NumberSource{Type::fields, quotaNames(kind).limits, "", 0};
    case Kind::acl: return NumberSource{Type::fields, "acl", "", 0};
    case Kind::detached: return NumberSource{Type::scores, "detachedNodes", "", 0};
    default: return std::nullopt;
  }
}

// Where the ids of a kind are whose records lie together under one key per id.
std::optional<NumberSource> nestedSource(Kind kind) {
  switch (kind) {
    case Kind::dentry: return NumberSource{Type::keys, "d[0-9]*", "d", 0};
    case Kind::xattr: return NumberSource{Type::keys, "x[0-9]*", "x", 0};
    case Kind::parentCount: return NumberSource{Type::keys, "p[0-9]*", "p", 0};
    case Kind::sustained: return NumberSource{Type::keys, "session[0-9]*", "session", 0};
    default: return std::nullopt;
  }
}

bool hasSub(Kind kind) {
  return kind == Kind::chunk || kind == Kind::sliceRef || kind == Kind::delFile || kind == Kind::delSlices;
}

}  // namespace

Status RedisTxn::readRange(const Range& range, const Visit& visit) {
  ++trips_;
  switch (range.kind) {
    case Kind::setting: return listOne(Range{range.kind, 0, range.after, range.limit}, visit);
    case Kind::counter: return listCounters(range, visit);
    case Kind::changeLog: return listLog(range, visit);
    case Kind::session:
    case Kind::flock:
    case Kind::plock: return range.id ? listOne(range, visit) : listLocks(range, visit);
    case Kind::chunk:
      if (range.id) return listChunks(range, visit);
      break;
    default: break;
  }
  if (auto nested = nestedSource(range.kind)) return listNested(*nested, range, visit);
  auto flat = flatSource(range.kind);
  if (!flat) return Status(Code::invalid, "no such listing");
  if (range.id && !hasSub(range.kind)) return listOne(range, visit);
  return listFlat(*flat, range, visit);
}

// Reads records and hands on those that exist. In a transaction that is validated they become part of what it relied on.
Status RedisTxn::visitRecords(std::span<const Key> keys, const Visit& visit, size_t& left, bool& more) {
  std::vector<std::optional<Value>> values;
  TRY(readRecords(keys, values));
  for (size_t i = 0; i < keys.size() && more; ++i) {
    if (!values[i]) continue;
    more = visit(keys[i], *values[i]) && --left > 0;
  }
  return {};
}

Status RedisTxn::readRecords(std::span<const Key> keys, std::vector<std::optional<Value>>& out) {
  if (validated_) {
    TRY(fetch(keys, Follow::no, kFieldsAll));
    for (auto& key : keys) {
      TRY_ASSIGN(auto value, use(key, kFieldsAll));
      out.push_back(std::move(value));
    }
    return {};
  }
  std::vector<Command> commands;
  std::vector<std::vector<Cell>> cells;
  for (auto& key : keys) {
    TRY_ASSIGN(auto of, cellsOf(key));
    for (auto& cell : of) commands.push_back(readCommand(cell));
    cells.push_back(std::move(of));
  }
  if (commands.empty()) return {};
  TRY_ASSIGN(auto replies, client_.read(commands));
  size_t next = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    std::vector<CellValue> values;
    for (auto& cell : cells[i]) {
      TRY_ASSIGN(auto value, decodeCell(cell, replies[next++].view()));
      values.push_back(std::move(value));
    }
    TRY_ASSIGN(auto record, decodeRecord(keys[i], values));
    out.push_back(std::move(record));
  }
  return {};
}

Status RedisTxn::listOne(const Range& range, const Visit& visit) {
  Key key{range.kind, range.id.value_or(0), 0, range.kind == Kind::setting ? "format" : ""};
  if (range.after && key <= *range.after) return {};
  size_t left = 1;
  bool more = true;
  return visitRecords({&key, 1}, visit, left, more);
}

Status RedisTxn::listFlat(const NumberSource& source, const Range& range, const Visit& visit) {
  std::optional<NumberItem> after;
  if (range.after) after = NumberItem{range.after->id, range.after->sub};
  if (range.id && (!after || after->id < *range.id))
    after = *range.id == 0 ? std::nullopt : std::optional(NumberItem{*range.id - 1, UINT64_MAX});
  size_t left = range.limit;
  for (bool more = true; more;) {
    TRY_ASSIGN(auto window, windows_.numbers(source, after, std::max(std::min(left, kPage * 40), kPage)));
    std::vector<Key> keys;
    for (size_t i = 0; i < window.items.size() && more; ++i) {
      auto& item = window.items[i];
      if (range.id && item.id != *range.id) return keys.empty() ? Status() : visitRecords(keys, visit, left, more);
      keys.push_back({range.kind, item.id, item.sub, {}});
      if (keys.size() < std::min(left, kPage) && i + 1 < window.items.size()) continue;
      TRY(visitRecords(keys, visit, left, more));
      keys.clear();
    }
    if (window.complete || window.items.empty()) return {};
    after = window.items.back();
  }
  return {};
}

// Sessions and locks: few, and reached through the registered sessions.
Status RedisTxn::listLocks(const Range& range, const Visit& visit) {
  std::set<uint64_t> ids;
  std::vector<uint64_t> sids;
  for (auto* name : {"allSessions", "sessions"}) {
    TRY_ASSIGN(auto window, windows_.numbers({Type::scores, name, "", 0}, std::nullopt, SIZE_MAX));
    for (auto& item : window.items) sids.push_back(item.id);
  }
  if (range.kind == Kind::session) {
    ids.insert(sids.begin(), sids.end());
  } else {
    auto prefix = range.kind == Kind::flock ? "lockf" : "lockp";
    for (size_t at = 0; at < sids.size();) {
      std::vector<Command> commands;
      for (auto end = std::min(at + kPage, sids.size()); at < end; ++at)
        commands.push_back({"SMEMBERS", numbered("locked", sids[at])});
      TRY_ASSIGN(auto replies, client_.read(commands));
      for (auto& reply : replies)
        for (size_t i = 0; i < reply.view().size(); ++i)
          if (auto ino = parseNumbered(reply.view()[i].text(), prefix)) ids.insert(*ino);
    }
  }
  std::vector<Key> keys;
  size_t left = range.limit;
  bool more = true;
  for (auto id : ids) {
    Key key{range.kind, id, 0, {}};
    if (range.after && key <= *range.after) continue;
    keys.push_back(std::move(key));
    if (keys.size() < kPage) continue;
    TRY(visitRecords(keys, visit, left, more));
    if (!more) return {};
    keys.clear();
  }
  return visitRecords(keys, visit, left, more);
}

Status RedisTxn::listNested(const NumberSource& source, const Range& range, const Visit& visit) {
  size_t left = range.limit;
  bool more = true;
  if (range.id) {
    if (range.after && range.after->id > *range.id) return {};
    Range inner = range;
    if (range.after && range.after->id < *range.id) inner.after.reset();
    return listWithin(inner, visit, left, more);
  }
  std::optional<NumberItem> after;
  // The id of `after` may hold more behind it.
  if (range.after && range.after->id > 0) after = NumberItem{range.after->id - 1, UINT64_MAX};
  while (more) {
    TRY_ASSIGN(auto window, windows_.numbers(source, after, kPage * 40));
    for (auto& item : window.items) {
      Range inner{range.kind, item.id, std::nullopt, left};
      if (range.after && range.after->id == item.id) inner.after = range.after;
      TRY(listWithin(inner, visit, left, more));
      if (!more) return {};
    }
    if (window.complete || window.items.empty()) return {};
    after = window.items.back();
  }
  return {};
}

Status RedisTxn::listWithin(const Range& range, const Visit& visit, size_t& left, bool& more) {
  if (range.kind == Kind::dentry) return listDentries(range, visit, left, more);
  auto id = *range.id;
  auto known = groups_.find({range.kind, id});
  if (known != groups_.end() && known->second.empty) {
    known->second.relied = true;
    return {};
  }
  bool isSet = range.kind == Kind::sustained;
  auto name = keyOfGroup(range.kind, id);
  std::vector<std::string> items;
  if (known != groups_.end() && known->second.items) {
    items = *known->second.items;
  } else {
    TRY_ASSIGN(auto reply, client_.readOne({isSet ? "SMEMBERS" : "HGETALL", name}));
    auto view = reply.view();
    if (!view.isArray() || (!isSet && view.size() % 2 != 0)) return unexpectedReply(name);
    for (size_t i = 0; i < view.size(); ++i) items.emplace_back(view[i].text());
  }
  std::map<Key, Value> records;
  for (size_t i = 0; i < items.size(); i += isSet ? 1 : 2) {
    Key key{range.kind, id, 0, {}};
    if (range.kind == Kind::xattr) {
      key.name = items[i];
    } else {
      auto sub = parseUint(items[i]);
      if (!sub) continue;
      key.sub = *sub;
    }
    CellValue cell{true, isSet ? std::string() : items[i + 1], {}};
    TRY_ASSIGN(auto value, decodeRecord(key, {std::move(cell)}));
    if (value) records.emplace(std::move(key), *std::move(value));
  }
  if (validated_) {
    if (isSet)
      ranges_.expectSet(name, items);
    else
      ranges_.expectHash(name, items);
  }
  for (auto& [key, value] : records) {
    if (range.after && key <= *range.after) continue;
    more = visit(key, value) && --left > 0;
    if (!more) break;
  }
  return {};
}

void RedisTxn::relyOnDir(Ino dir, std::string_view after, const Window<NamedItem>& window) {
  if (!validated_) return;
  auto name = numbered("d", dir);
  if (after.empty() && window.fresh) {
    if (window.seen == 0) return ranges_.expectNoKey(std::move(name));
    ranges_.expectHashSize(name, window.seen);
  }
  if (window.items.size() > kMostChecked) return;  // the number of entries stands for them
  for (auto& item : window.items) ranges_.expectField(name, item.name, item.value);
}

Status RedisTxn::listDentries(const Range& range, const Visit& visit, size_t& left, bool& more) {
  auto dir = *range.id;
  std::string after = range.after ? range.after->name : std::string();
  // A directory may hold an entry with an empty name only by damage, so "behind the empty name" is everything.
  while (more) {
    TRY_ASSIGN(auto window, windows_.fields(numbered("d", dir), after, std::min(left, kPage * 40)));
    relyOnDir(dir, after, window);
    for (auto& item : window.items) {
      TRY_ASSIGN(auto dentry, decodeDentry(item.value));
      more = visit(key::dentry(dir, item.name), Value(dentry)) && --left > 0;
      if (!more) return {};
    }
    if (window.complete || window.items.empty()) return {};
    after = window.items.back().name;
  }
  return {};
}

Status RedisTxn::listChunks(const Range& range, const Visit& visit) {
  auto ino = *range.id;
  uint64_t first = 0;
  if (range.after) {
    if (range.after->id > ino) return {};
    if (range.after->id == ino) first = range.after->sub + 1;
  }
  if (!range.below || *range.below > first + kMostProbes)
    return listFlat({Type::keys, numbered("c", ino) + "_*", "c", '_'}, range, visit);
  size_t left = range.limit;
  for (bool more = true; more && first < *range.below;) {
    std::vector<Key> keys;
    for (auto end = std::min<uint64_t>(*range.below, first + kPage); first < end; ++first)
      keys.push_back(key::chunk(ino, static_cast<uint32_t>(first)));
    TRY(visitRecords(keys, visit, left, more));
  }
  return {};
}

Status RedisTxn::listCounters(const Range& range, const Visit& visit) {
  std::vector<Key> keys;
  for (auto name : kCounters)
    if (auto key = key::counter(name); !range.after || *range.after < key) keys.push_back(std::move(key));
  size_t left = range.limit;
  bool more = true;
  return visitRecords(keys, visit, left, more);
}

Status RedisTxn::listLog(const Range& range, const Visit& visit) {
  uint64_t after = range.after ? range.after->id : 0;
  bool first = true;
  for (size_t left = range.limit; left > 0;) {
    std::vector<std::string> words{"G", std::to_string(after), std::to_string(std::min(left, kPage * 40))};
    const std::string names[] = {"txnLog", "txnLastLog"};
    TRY_ASSIGN(auto reply, client_.readScript(readScript(), names, words));
    auto answer = reply.view();
    auto version = answer.size() == 2 ? parseUint(answer[0].text()) : std::nullopt;
    if (!version || !answer[1].isArray()) return unexpectedReply("the change log");
    auto entries = answer[1];
    if (validated_ && first && !range.after && entries.size() > 0) ranges_.expectLogStart(*version);
    first = false;
    if (entries.size() == 0) return {};
    for (size_t i = 0; i < entries.size(); ++i) {
      after = *version + i;
      if (!visit(Key{Kind::changeLog, after, 0, {}}, Value(std::string(entries[i].text())))) return {};
      if (--left == 0) return {};
    }
  }
  return {};
}

// What a kept window says may be out of date, so its entries are looked at again.
Result<std::vector<NamedItem>> RedisTxn::dirPage(Ino dir, std::string_view after, size_t limit) {
  std::vector<NamedItem> out;
  auto name = numbered("d", dir);
  std::string from(after);
  while (out.size() < limit) {
    TRY_ASSIGN(auto window, windows_.fields(name, from, limit - out.size()));
    relyOnDir(dir, from, window);
    if (window.items.empty()) break;
    from = window.items.back().name;
    if (!window.fresh) {
      Command command{"HMGET", name};
      for (auto& item : window.items) command.push_back(item.name);
      TRY_ASSIGN(auto reply, client_.readOne(command));
      auto values = reply.view();
      if (values.size() != window.items.size()) return unexpectedReply(name);
      for (size_t i = 0; i < values.size(); ++i)
        if (values[i].isText()) out.push_back({std::move(window.items[i].name), std::string(values[i].text())});
    } else {
      std::move(window.items.begin(), window.items.end(), std::back_inserter(out));
    }
    if (window.complete) break;
  }
  return out;
}

Status RedisTxn::readNodes(std::vector<DirEntry>& entries) {
  if (validated_) {
    std::vector<Key> keys;
    for (auto& entry : entries) keys.push_back(key::node(entry.dentry.ino));
    std::vector<std::optional<Value>> values;
    TRY(readRecords(keys, values));
    for (size_t i = 0; i < entries.size(); ++i)
      if (auto* attr = values[i] ? std::get_if<Attr>(&*values[i]) : nullptr) entries[i].attr = *attr;
    return {};
  }
  std::vector<Command> commands;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i % kNodesAtOnce == 0) commands.push_back({"MGET"});
    commands.back().push_back(numbered("i", entries[i].dentry.ino));
  }
  if (commands.empty()) return {};
  TRY_ASSIGN(auto replies, client_.read(commands));
  for (size_t i = 0; i < entries.size(); ++i) {
    auto answer = replies[i / kNodesAtOnce].view();
    if (i % kNodesAtOnce >= answer.size()) return unexpectedReply("MGET");
    auto node = answer[i % kNodesAtOnce];
    if (!node.isText()) continue;
    TRY_ASSIGN(entries[i].attr, decodeAttr(node.text()));
  }
  return readParents(entries);
}

// The parents of hard-linked nodes, which whoever lists a directory asks for next: all in one trip instead of one by one.
Status RedisTxn::readParents(const std::vector<DirEntry>& entries) {
  std::vector<Command> commands;
  std::vector<Ino> inodes;
  for (auto& entry : entries) {
    if (!entry.attr || entry.attr->parent != 0 || groups_.contains({Kind::parentCount, entry.dentry.ino})) continue;
    inodes.push_back(entry.dentry.ino);
    commands.push_back({"HGETALL", keyOfGroup(Kind::parentCount, entry.dentry.ino)});
  }
  if (commands.empty()) return {};
  TRY_ASSIGN(auto replies, client_.read(commands));
  for (size_t i = 0; i < inodes.size(); ++i) {
    auto view = replies[i].view();
    if (!view.isArray() || view.size() % 2 != 0) return unexpectedReply("HGETALL");
    Group group{.empty = view.size() == 0, .items = std::vector<std::string>()};
    for (size_t k = 0; k < view.size(); ++k) group.items->emplace_back(view[k].text());
    groups_.insert_or_assign({Kind::parentCount, inodes[i]}, std::move(group));
  }
  return {};
}

Result<std::vector<DirEntry>> RedisTxn::readDir(Ino dir, std::string_view afterName, size_t limit, bool plus) {
  ++trips_;
  std::vector<DirEntry> out;
  TRY_ASSIGN(auto items, dirPage(dir, afterName, limit));
  for (auto& item : items) {
    TRY_ASSIGN(auto dentry, decodeDentry(item.value));
    out.push_back({std::move(item.name), dentry, std::nullopt});
  }
  if (plus) TRY(readNodes(out));
  return out;
}

}  // namespace aquifer::meta::redis
