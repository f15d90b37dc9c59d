// Bytes of cells -> records.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "meta/model/codec.h"
#include "meta/store/redis/cells.h"

namespace aquifer::meta::redis {

namespace {

using Maybe = Result<std::optional<Value>>;
using Cells = std::vector<CellValue>;

template <class T>
Maybe some(Result<T> decoded) {
  TRY(decoded);
  return std::optional<Value>(Value(*std::move(decoded)));
}

Maybe some(Value value) { return std::optional<Value>(std::move(value)); }

Status damaged(const Key& key) {
  return Status(Code::corrupt, fmt::format("a record of kind {} (id {}) does not decode", static_cast<int>(key.kind), key.id));
}

Maybe number(const Key& key, const CellValue& cell, int64_t more) {
  auto n = parseInt(cell.bytes);
  int64_t sum = 0;
  if (!n || __builtin_add_overflow(*n, more, &sum)) return damaged(key);
  return some(Value(sum));
}

Maybe score(const Key& key, const CellValue& cell) {
  auto n = parseScore(cell.bytes);
  if (!n) return damaged(key);
  return some(Value(*n));
}

// Absent parts count as 0.
Result<int64_t> part(const Key& key, const CellValue& cell) {
  if (!cell.present) return int64_t{0};
  auto n = parseInt(cell.bytes);
  if (!n) return damaged(key);
  return *n;
}

Maybe quota(const Key& key, const Cells& cells) {
  ByteReader in(cells[0].bytes);
  if (cells[0].bytes.size() != 16) return damaged(key);
  Quota q;
  q.maxSpace = in.big<int64_t>();
  q.maxInodes = in.big<int64_t>();
  TRY_ASSIGN(q.usedSpace, part(key, cells[1]));
  TRY_ASSIGN(q.usedInodes, part(key, cells[2]));
  return some(Value(q));
}

Maybe dirStat(const Key& key, const Cells& cells) {
  DirStat stat;
  TRY_ASSIGN(stat.space, part(key, cells[0]));
  TRY_ASSIGN(stat.length, part(key, cells[1]));
  TRY_ASSIGN(stat.inodes, part(key, cells[2]));
  return some(Value(stat));
}

Maybe session(const Key& key, const Cells& cells) {
  auto& at = cells[0].present ? cells[0] : cells[2];
  if (!at.present) return std::optional<Value>();
  auto expire = parseScore(at.bytes);
  if (!expire) return damaged(key);
  return some(Value(SessionRecord{*expire, cells[1].bytes, !cells[0].present}));
}

bool parseOwner(std::string_view field, SessionId& sid, uint64_t& owner) {
  auto cut = field.find('_');
  if (cut == std::string_view::npos) return false;
  auto n = parseUint(field.substr(0, cut));
  auto hex = field.substr(cut + 1);
  auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), owner, 16);
  if (!n || error != std::errc() || end != hex.data() + hex.size()) return false;
  sid = *n;
  return true;
}

// Hashes have no order: sorted, so that the same table always reads the same.
template <class Table>
void sortByOwner(Table& table) {
  std::sort(table.begin(), table.end(), [](auto& a, auto& b) { return std::pair(a.sid, a.owner) < std::pair(b.sid, b.owner); });
}

Maybe locks(const Key& key, const CellValue& cell) {
  FlockTable flocks;
  PlockTable plocks;
  for (size_t i = 0; i + 1 < cell.items.size(); i += 2) {
    SessionId sid = 0;
    uint64_t owner = 0;
    if (!parseOwner(cell.items[i], sid, owner)) return damaged(key);
    auto& value = cell.items[i + 1];
    if (key.kind == Kind::flock) {
      if (value != "R" && value != "W") return damaged(key);
      flocks.push_back({sid, owner, value[0]});
    } else {
      TRY_ASSIGN(auto ranges, decodeLockRanges(value));
      plocks.push_back({sid, owner, std::move(ranges)});
    }
  }
  sortByOwner(flocks);
  sortByOwner(plocks);
  return key.kind == Kind::flock ? some(Value(std::move(flocks))) : some(Value(std::move(plocks)));
}

}  // namespace

Maybe decodeRecord(const Key& key, const Cells& cells) {
  auto& first = cells[0];
  if (key.kind == Kind::session) return session(key, cells);
  if (!first.present) return std::optional<Value>();
  switch (key.kind) {
    case Kind::setting:
    case Kind::symlink:
    case Kind::xattr: return some(Value(first.bytes));
    case Kind::counter: return number(key, first, holdsLastUsed(key.name) ? 1 : 0);
    case Kind::node: return some(decodeAttr(first.bytes));
    case Kind::dentry: return some(decodeDentry(first.bytes));
    case Kind::chunk: return some(decodeSlices(first.bytes));
    case Kind::sliceRef: return number(key, first, 1);
    case Kind::parentCount: return number(key, first, 0);
    case Kind::sustained: return some(Value(int64_t{1}));
    case Kind::delFile:
    case Kind::detached: return score(key, first);
    case Kind::delSlices: return some(decodeDelayed(first.bytes));
    case Kind::dirStat: return dirStat(key, cells);
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: return quota(key, cells);
    case Kind::acl: return some(decodeAclRule(first.bytes));
    case Kind::flock:
    case Kind::plock: return locks(key, first);
    case Kind::session:
    case Kind::changeLog: break;
  }
  return damaged(key);
}

}  // namespace aquifer::meta::redis
