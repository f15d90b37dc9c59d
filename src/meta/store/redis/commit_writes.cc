// What a commit writes: records and verbs as the keys and values that JuiceFS knows.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "meta/model/codec.h"
#include "meta/store/redis/commit_plan.h"

namespace aquifer::meta::redis {

namespace {

using Base = Change::Base;

constexpr size_t kMaxWords = 1000;  // in one command of the script

std::string signedDecimal(int64_t n) { return fmt::format_int(n).str(); }

bool erases(const Change& change) { return change.base == Base::erase; }

template <class T>
const T* as(const Change& change) {
  return std::get_if<T>(&change.value);
}

// Does a value of this type belong to the kind?
bool fits(Kind kind, const Value& value) {
  auto is = [&]<class T>(const T*) { return std::holds_alternative<T>(value); };
  switch (kind) {
    case Kind::setting:
    case Kind::symlink:
    case Kind::xattr:
    case Kind::changeLog: return is(static_cast<std::string*>(nullptr));
    case Kind::node: return is(static_cast<Attr*>(nullptr));
    case Kind::dentry: return is(static_cast<Dentry*>(nullptr));
    case Kind::chunk: return is(static_cast<SliceList*>(nullptr));
    case Kind::session: return is(static_cast<SessionRecord*>(nullptr));
    case Kind::delSlices: return is(static_cast<DelayedList*>(nullptr));
    case Kind::dirStat: return is(static_cast<DirStat*>(nullptr));
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: return is(static_cast<Quota*>(nullptr));
    case Kind::acl: return is(static_cast<AclRule*>(nullptr));
    case Kind::flock: return is(static_cast<FlockTable*>(nullptr));
    case Kind::plock: return is(static_cast<PlockTable*>(nullptr));
    default: return is(static_cast<int64_t*>(nullptr));
  }
}

std::string timeBytes(const Time& t) {
  std::string out;
  for (int twice = 0; twice < 2; ++twice) {  // mtime and ctime stand side by side
    appendBig<int64_t>(out, t.sec);
    appendBig<uint32_t>(out, t.nsec);
  }
  return out;
}

}  // namespace

void CommitPlan::command(std::initializer_list<std::string_view> words) {
  writeWords_.push_back(decimal(words.size()));
  writeWords_.insert(writeWords_.end(), words.begin(), words.end());
  if (auto key = *(words.begin() + 1); !keys_.contains(key)) keys_.emplace(key);
  ++writes_;
}

void CommitPlan::writeNode(const Key& key, const Change& change) {
  auto name = numbered("i", key.id);
  if (erases(change)) return command({"DEL", name});
  if (!change.isVerbs()) return command({"SET", name, encodeAttr(*as<Attr>(change))});
  writeWords_.insert(writeWords_.end(), {"N", name, signedDecimal(change.nlink), decimal(change.touches.size())});
  for (auto& touch : change.touches)
    writeWords_.insert(writeWords_.end(), {signedDecimal(touch.now.sec), decimal(touch.now.nsec), signedDecimal(touch.skipNanos),
                                           timeBytes(touch.now)});
  keys_.insert(std::move(name));
  ++writes_;
}

void CommitPlan::push(const std::string& key, const SliceList& slices, const std::vector<uint32_t*>& counts) {
  std::string bytes;
  for (size_t at = 0; at < slices.size();) {
    auto n = std::min(slices.size() - at, kMaxWords);
    bool last = at + n == slices.size();
    // Only the last answer is the number of records of the chunk.
    if (last) writeWords_.emplace_back("r");
    writeWords_.push_back(decimal(2 + n));
    writeWords_.emplace_back("RPUSH");
    writeWords_.push_back(key);
    for (auto end = at + n; at < end; ++at) {
      bytes.clear();
      encodeSlice(bytes, slices[at]);
      writeWords_.push_back(bytes);
    }
    ++writes_;
  }
  counts_.push_back({counts, std::nullopt});
  keys_.insert(key);
}

void CommitPlan::writeChunk(const Key& key, const Change& change) {
  auto name = chunkKey(key.id, key.sub);
  if (change.isVerbs()) {
    if (!change.appended.empty()) push(name, change.appended, change.recordCounts);
    return;
  }
  command({"DEL", name});
  if (erases(change)) return;
  if (auto& slices = *as<SliceList>(change); !slices.empty())
    push(name, slices, change.recordCounts);
  else
    counts_.push_back({change.recordCounts, 0});
}

void CommitPlan::writeCounter(const Key& key, const Change& change) {
  auto name = counterKey(key.name);
  int64_t less = holdsLastUsed(key.name) ? 1 : 0;
  if (erases(change)) return command({"DEL", name});
  if (!change.isVerbs()) return command({"SET", name, signedDecimal(*as<int64_t>(change) - less)});
  if (less != 0) command({"SETNX", name, signedDecimal(-less)});
  command({"INCRBY", name, signedDecimal(change.delta)});
}

// One holder is what absence means, so it is not written.
void CommitPlan::writeSliceRef(const Key& key, const Change& change) {
  auto field = sliceField(key.id, key.sub);
  if (change.isVerbs()) return command({"HINCRBY", "sliceRef", field, signedDecimal(change.delta)});
  int64_t holders = erases(change) ? 1 : *as<int64_t>(change);
  if (holders != 1) return command({"HSET", "sliceRef", field, signedDecimal(holders - 1)});
  if (change.base != Base::insert) command({"HDEL", "sliceRef", field});
}

void CommitPlan::writeSession(const Key& key, const Change& change) {
  auto sid = decimal(key.id);
  if (erases(change)) {
    command({"ZREM", "allSessions", sid});
    command({"HDEL", "sessionInfos", sid});
    return command({"ZREM", "sessions", sid});
  }
  auto& record = *as<SessionRecord>(change);
  command({"HSET", "sessionInfos", sid, record.info});
  command({"ZADD", record.legacy ? "sessions" : "allSessions", signedDecimal(record.expire), sid});
}

void CommitPlan::writeDirStat(const Key& key, const Change& change) {
  auto ino = decimal(key.id);
  if (change.isVerbs()) {
    writeWords_.insert(writeWords_.end(), {"D", ino, signedDecimal(change.stat.length), signedDecimal(change.stat.space),
                                           signedDecimal(change.stat.inodes)});
    keys_.insert({"dirDataLength", "dirUsedSpace", "dirUsedInodes"});
    ++writes_;
    return;
  }
  bool erase = erases(change);
  auto stat = erase ? DirStat{} : *as<DirStat>(change);
  auto field = [&](std::string_view name, int64_t n) {
    if (erase)
      command({"HDEL", name, ino});
    else
      command({"HSET", name, ino, signedDecimal(n)});
  };
  field("dirDataLength", stat.length);
  field("dirUsedSpace", stat.space);
  field("dirUsedInodes", stat.inodes);
}

void CommitPlan::writeQuota(const Key& key, const Change& change) {
  auto& names = quotaNames(key.kind);
  auto id = decimal(key.id);
  auto limits = [](int64_t space, int64_t inodes) {
    std::string out;
    appendBig(out, space);
    appendBig(out, inodes);
    return out;
  };
  if (erases(change)) {
    for (auto* name : {&names.limits, &names.space, &names.inodes}) command({"HDEL", *name, id});
  } else if (change.isVerbs()) {
    if (key.kind == Kind::dirQuota) {
      writeWords_.insert(writeWords_.end(),
                         {"Q", names.limits, id, signedDecimal(change.quota.usedSpace), signedDecimal(change.quota.usedInodes)});
      keys_.insert({names.limits, names.space, names.inodes});
      ++writes_;
      return;
    }
    command({"HSETNX", names.limits, id, limits(-1, -1)});
    command({"HINCRBY", names.space, id, signedDecimal(change.quota.usedSpace)});
    command({"HINCRBY", names.inodes, id, signedDecimal(change.quota.usedInodes)});
  } else {
    auto& quota = *as<Quota>(change);
    command({"HSET", names.limits, id, limits(quota.maxSpace, quota.maxInodes)});
    command({"HSET", names.space, id, signedDecimal(quota.usedSpace)});
    command({"HSET", names.inodes, id, signedDecimal(quota.usedInodes)});
  }
}

void CommitPlan::writeLocks(const Key& key, const Change& change) {
  std::vector<std::pair<std::string, std::string>> owners;
  if (!erases(change)) {
    if (auto* flocks = as<FlockTable>(change))
      for (auto& e : *flocks) owners.emplace_back(ownerField(e.sid, e.owner), std::string(1, e.type));
    if (auto* plocks = as<PlockTable>(change))
      for (auto& e : *plocks) owners.emplace_back(ownerField(e.sid, e.owner), encodeLockRanges(e.ranges));
  }
  auto name = numbered(key.kind == Kind::flock ? "lockf" : "lockp", key.id);
  writeWords_.insert(writeWords_.end(), {"K", name, decimal(owners.size())});
  for (auto& [owner, value] : owners) {
    writeWords_.push_back(std::move(owner));
    writeWords_.push_back(std::move(value));
  }
  keys_.insert(std::move(name));
  ++writes_;
}

void CommitPlan::writeField(const std::string& key, std::string_view field, const Change& change, std::string_view value) {
  if (erases(change))
    command({"HDEL", key, field});
  else
    command({"HSET", key, field, value});
}

void CommitPlan::writeScore(std::string_view key, std::string_view member, const Change& change) {
  if (erases(change))
    command({"ZREM", key, member});
  else
    command({"ZADD", key, signedDecimal(*as<int64_t>(change)), member});
}

Status CommitPlan::write(const Key& key, const Change& change) {
  bool present = !erases(change) && !change.isVerbs();
  if (present && !fits(key.kind, change.value)) return Status(Code::invalid, "a record was put with a value of another kind");
  switch (key.kind) {
    case Kind::setting:
      if (present)
        command({"SET", "setting", *as<std::string>(change)});
      else
        command({"DEL", "setting"});
      break;
    case Kind::counter: writeCounter(key, change); break;
    case Kind::node: writeNode(key, change); break;
    case Kind::dentry:
      writeField(numbered("d", key.id), key.name, change, present ? encodeDentry(*as<Dentry>(change)) : "");
      break;
    case Kind::chunk: writeChunk(key, change); break;
    case Kind::sliceRef: writeSliceRef(key, change); break;
    case Kind::symlink:
      if (present)
        command({"SET", numbered("s", key.id), *as<std::string>(change)});
      else
        command({"DEL", numbered("s", key.id)});
      break;
    case Kind::xattr:
      writeField(numbered("x", key.id), key.name, change, present ? *as<std::string>(change) : std::string());
      break;
    case Kind::parentCount:
      if (change.isVerbs())
        command({"HINCRBY", numbered("p", key.id), decimal(key.sub), signedDecimal(change.delta)});
      else
        writeField(numbered("p", key.id), decimal(key.sub), change, present ? signedDecimal(*as<int64_t>(change)) : "");
      break;
    case Kind::session: writeSession(key, change); break;
    case Kind::sustained: command({present ? "SADD" : "SREM", numbered("session", key.id), decimal(key.sub)}); break;
    case Kind::delFile: writeScore("delfiles", pairName(key.id, ':', key.sub), change); break;
    case Kind::delSlices:
      writeField("delSlices", pairName(key.id, '_', key.sub), change, present ? encodeDelayed(*as<DelayedList>(change)) : "");
      break;
    case Kind::dirStat: writeDirStat(key, change); break;
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: writeQuota(key, change); break;
    case Kind::acl: writeField("acl", decimal(key.id), change, present ? encodeAclRule(*as<AclRule>(change)) : ""); break;
    case Kind::flock:
    case Kind::plock: writeLocks(key, change); break;
    case Kind::detached: writeScore("detachedNodes", decimal(key.id), change); break;
    case Kind::changeLog: break;  // trimLog
  }
  return {};
}

Status CommitPlan::writeLog(const std::vector<std::string>& entries) {
  for (auto& entry : entries) command({"RPUSH", "txnLog", entry});
  if (!entries.empty()) command({"INCRBY", "txnLastLog", decimal(entries.size())});
  return {};
}

Status CommitPlan::trimLog(const std::vector<uint64_t>& versions) {
  if (versions.empty()) return {};
  for (size_t i = 1; i < versions.size(); ++i)
    if (versions[i] != versions[i - 1] + 1)
      return Status(Code::unsupported, "the change log on Redis only loses its oldest entries");
  writeWords_.insert(writeWords_.end(), {"T", decimal(versions.front()), decimal(versions.back())});
  keys_.insert({"txnLog", "txnLastLog"});
  ++writes_;
  return {};
}

}  // namespace aquifer::meta::redis
