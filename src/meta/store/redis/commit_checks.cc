// What a commit relies on, in the words of the script.
#include <fmt/format.h>

#include "base/log.h"
#include "meta/store/redis/commit_plan.h"

namespace aquifer::meta::redis {

namespace {

using Type = Cell::Type;

// Where the fields lie in the bytes of a node (docs/formats/metadata.md §3.1). From the parent on the layout depends on the
// length.
struct Piece {
  uint32_t fields;
  size_t from, to;  // [from, to)
};
constexpr size_t kTail = 63, kParentEnd = 71;
constexpr Piece kPieces[] = {
    {kFieldFlags, 0, 1},   {kFieldType | kFieldMode, 1, 3}, {kFieldOwner, 3, 11},    {kFieldTimes, 11, 47},
    {kFieldNlink, 47, 51}, {kFieldLength, 51, 59},          {kFieldRdev, 59, kTail}, {kFieldParent, kTail, kParentEnd},
};

}  // namespace

void CommitPlan::check(std::initializer_list<std::string_view> words) {
  checkWords_.insert(checkWords_.end(), words.begin(), words.end());
  if (auto key = *(words.begin() + 1); !keys_.contains(key)) keys_.emplace(key);
  ++checks_;
}

void CommitPlan::expectNoKey(std::string key) { check({"n", key}); }
void CommitPlan::expectField(std::string key, std::string field, std::string value) { check({"h", key, field, value}); }
void CommitPlan::expectHashSize(std::string key, size_t fields) { check({"L", key, decimal(fields)}); }
void CommitPlan::expectLogStart(uint64_t version) {
  checkWords_.insert(checkWords_.end(), {"G", decimal(version)});
  keys_.insert({"txnLog", "txnLastLog"});
  ++checks_;
}

void CommitPlan::expectHash(std::string key, std::span<const std::string> fieldsAndValues) {
  if (fieldsAndValues.empty()) return expectNoKey(std::move(key));
  check({"H", key, decimal(fieldsAndValues.size() / 2)});
  checkWords_.insert(checkWords_.end(), fieldsAndValues.begin(), fieldsAndValues.end());
}

void CommitPlan::expectSet(std::string key, std::span<const std::string> members) {
  if (members.empty()) return expectNoKey(std::move(key));
  check({"M", key, decimal(members.size())});
  checkWords_.insert(checkWords_.end(), members.begin(), members.end());
}

void CommitPlan::expectAbsent(const Cell& cell) {
  switch (cell.type) {
    case Type::string:
    case Type::hash:
    case Type::list: return check({"n", cell.key});
    case Type::field: return check({"a", cell.key, cell.field});
    case Type::score: return check({"y", cell.key, cell.field});
    case Type::member: return check({"s", cell.key, cell.field, "0"});
  }
}

void CommitPlan::expectCell(const Cell& cell, const CellValue& seen) {
  if (!seen.present) return expectAbsent(cell);
  switch (cell.type) {
    case Type::string: return check({"v", cell.key, seen.bytes});
    case Type::field: return check({"h", cell.key, cell.field, seen.bytes});
    case Type::hash: return expectHash(cell.key, seen.items);
    case Type::list: return check({"l", cell.key, seen.bytes});
    case Type::score: return check({"z", cell.key, cell.field, seen.bytes});
    case Type::member: return check({"s", cell.key, cell.field, "1"});
  }
}

void CommitPlan::expectNode(const Cell& cell, std::string_view seen, uint32_t fields) {
  if ((fields & kFieldsAll) == kFieldsAll) return check({"v", cell.key, seen});
  // Neighbouring pieces become one compare.
  std::vector<std::pair<size_t, size_t>> ranges;
  auto want = [&](size_t from, size_t to) {
    if (!ranges.empty() && ranges.back().second == from)
      ranges.back().second = to;
    else
      ranges.emplace_back(from, to);
  };
  for (auto& piece : kPieces)
    if (fields & piece.fields) want(piece.from, piece.to);
  // ACL and tier share a tail whose layout its length tells, so it is compared as a whole.
  if (fields & (kFieldAcl | kFieldTier)) want(kParentEnd, std::string_view::npos);
  check({"m", cell.key, decimal(ranges.size())});
  for (auto& [from, to] : ranges) {
    bool toEnd = to == std::string_view::npos;
    auto bytes = from < seen.size() ? seen.substr(from, toEnd ? to : to - from) : std::string_view();
    checkWords_.insert(checkWords_.end(), {decimal(from + 1), toEnd ? "-1" : decimal(to), std::string(bytes)});
  }
}

Status CommitPlan::commit(Client& client) {
  std::vector<std::string> keys(keys_.begin(), keys_.end()), args;
  args.reserve(2 + checkWords_.size() + writeWords_.size());
  args.push_back(decimal(checks_));
  args.insert(args.end(), std::make_move_iterator(checkWords_.begin()), std::make_move_iterator(checkWords_.end()));
  args.push_back(decimal(writes_));
  args.insert(args.end(), std::make_move_iterator(writeWords_.begin()), std::make_move_iterator(writeWords_.end()));
  auto reply = changes() ? client.writeScript(commitScript(), keys, args) : client.readScript(commitScript(), keys, args);
  if (!reply) return std::move(reply).status();
  auto answer = reply->view();
  if (answer.size() == 0 || !answer[0].isInteger()) return unexpectedReply("a commit");
  if (auto failed = answer[0].integer(); failed != 0) {
    LOG_TRACE("redis: check {} of {} failed", failed, checks_);
    return Code::conflict;
  }
  size_t next = 1;
  for (auto& count : counts_) {
    if (!count.known && next < answer.size()) count.known = static_cast<uint32_t>(answer[next++].integer());
    for (auto* to : count.to) *to = count.known.value_or(0);
  }
  return {};
}

}  // namespace aquifer::meta::redis
