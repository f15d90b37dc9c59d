#include "meta/store/redis/cells.h"

#include <fmt/format.h>

namespace aquifer::meta::redis {

namespace {

using Type = Cell::Type;

constexpr size_t kSliceBytes = 24;

bool isCounterName(std::string_view name) {
  if (name.empty() || name.size() > 64) return false;
  for (char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  return name != "setting";  // names of hashes and lists fail by their type
}

}  // namespace

std::string decimal(uint64_t n) { return fmt::format_int(n).str(); }

std::string numbered(std::string_view prefix, uint64_t n) {
  std::string out(prefix);
  out += decimal(n);
  return out;
}

std::string chunkKey(Ino ino, uint64_t index) { return numbered(numbered("c", ino) + "_", index); }
std::string pairName(uint64_t a, char separator, uint64_t b) { return decimal(a) + separator + decimal(b); }
std::string sliceField(SliceId id, uint64_t size) { return "k" + pairName(id, '_', size); }
std::string ownerField(SessionId sid, uint64_t owner) { return fmt::format("{}_{:016X}", sid, owner); }

bool holdsLastUsed(std::string_view name) { return name == counter::kNextInode || name == counter::kNextChunk; }

std::string counterKey(std::string_view name) {
  if (name == counter::kNextInode) return "nextinode";
  if (name == counter::kNextChunk) return "nextchunk";
  if (name == counter::kNextSession) return "nextsession";
  return std::string(name);
}

const QuotaNames& quotaNames(Kind kind) {
  static const QuotaNames dir{"dirQuota", "dirQuotaUsedSpace", "dirQuotaUsedInodes"};
  static const QuotaNames user{"userQuota", "userQuotaUsedSpace", "userQuotaUsedInodes"};
  static const QuotaNames group{"groupQuota", "groupQuotaUsedSpace", "groupQuotaUsedInodes"};
  return kind == Kind::dirQuota ? dir : kind == Kind::userQuota ? user : group;
}

std::optional<uint64_t> parseNumbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return parseUint(name.substr(prefix.size()));
}

std::optional<std::pair<uint64_t, uint64_t>> parsePair(std::string_view name, std::string_view prefix, char separator) {
  auto cut = name.find(separator, prefix.size());
  if (!name.starts_with(prefix) || cut == std::string_view::npos) return std::nullopt;
  auto a = parseUint(name.substr(prefix.size(), cut - prefix.size())), b = parseUint(name.substr(cut + 1));
  if (!a || !b) return std::nullopt;
  return std::pair(*a, *b);
}

Result<std::vector<Cell>> cellsOf(const Key& k) {
  auto id = [&] { return decimal(k.id); };
  auto one = [](Type type, std::string key, std::string field = {}) {
    std::vector<Cell> out;
    out.push_back({type, std::move(key), std::move(field)});
    return out;
  };
  switch (k.kind) {
    case Kind::setting:
      if (k.name != "format") return Status(Code::invalid, "no such setting on Redis: " + k.name);
      return one(Type::string, "setting");
    case Kind::counter:
      if (!isCounterName(k.name)) return Status(Code::invalid, "no name of a counter: " + k.name);
      return one(Type::string, counterKey(k.name));
    case Kind::node: return one(Type::string, numbered("i", k.id));
    case Kind::dentry: return one(Type::field, numbered("d", k.id), k.name);
    case Kind::chunk: return one(Type::list, chunkKey(k.id, k.sub));
    case Kind::sliceRef: return one(Type::field, "sliceRef", sliceField(k.id, k.sub));
    case Kind::symlink: return one(Type::string, numbered("s", k.id));
    case Kind::xattr: return one(Type::field, numbered("x", k.id), k.name);
    case Kind::parentCount: return one(Type::field, numbered("p", k.id), decimal(k.sub));
    case Kind::session:
      return std::vector<Cell>{
          {Type::score, "allSessions", id()}, {Type::field, "sessionInfos", id()}, {Type::score, "sessions", id()}};
    case Kind::sustained: return one(Type::member, numbered("session", k.id), decimal(k.sub));
    case Kind::delFile: return one(Type::score, "delfiles", pairName(k.id, ':', k.sub));
    case Kind::delSlices: return one(Type::field, "delSlices", pairName(k.id, '_', k.sub));
    case Kind::dirStat:
      return std::vector<Cell>{
          {Type::field, "dirUsedSpace", id()}, {Type::field, "dirDataLength", id()}, {Type::field, "dirUsedInodes", id()}};
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: {
      auto& names = quotaNames(k.kind);
      return std::vector<Cell>{
          {Type::field, names.limits, id()}, {Type::field, names.space, id()}, {Type::field, names.inodes, id()}};
    }
    case Kind::acl: return one(Type::field, "acl", id());
    case Kind::flock: return one(Type::hash, numbered("lockf", k.id));
    case Kind::plock: return one(Type::hash, numbered("lockp", k.id));
    case Kind::detached: return one(Type::score, "detachedNodes", id());
    case Kind::changeLog: break;  // a list without an address for one entry
  }
  return Status(Code::unsupported, "an entry of the change log cannot be read by itself on Redis");
}

Command readCommand(const Cell& cell) {
  switch (cell.type) {
    case Type::string: return {"GET", cell.key};
    case Type::field: return {"HGET", cell.key, cell.field};
    case Type::hash: return {"HGETALL", cell.key};
    case Type::list: return {"LRANGE", cell.key, "0", "-1"};
    case Type::score: return {"ZSCORE", cell.key, cell.field};
    case Type::member: break;
  }
  return {"SISMEMBER", cell.key, cell.field};
}

Result<CellValue> decodeCell(const Cell& cell, View reply) {
  CellValue out;
  switch (cell.type) {
    case Type::string:
    case Type::field:
    case Type::score:
      if (reply.isNil()) return out;
      if (!reply.isText()) break;
      out.present = true;
      out.bytes = reply.text();
      return out;
    case Type::member:
      if (!reply.isInteger()) break;
      out.present = reply.integer() == 1;
      return out;
    case Type::hash:
      if (!reply.isArray() || reply.size() % 2 != 0) break;
      out.present = reply.size() > 0;
      out.items.reserve(reply.size());
      for (size_t i = 0; i < reply.size(); ++i) out.items.emplace_back(reply[i].text());
      return out;
    case Type::list:
      if (!reply.isArray()) break;
      out.present = reply.size() > 0;
      out.bytes.reserve(reply.size() * kSliceBytes);
      for (size_t i = 0; i < reply.size(); ++i) {
        if (reply[i].text().size() != kSliceBytes)
          return Status(Code::corrupt, fmt::format("a slice record of {} has a wrong length", cell.key));
        out.bytes += reply[i].text();
      }
      return out;
  }
  return unexpectedReply(cell.key);
}

}  // namespace aquifer::meta::redis
