#include "meta/store/redis/redis_txn.h"

#include <fmt/core.h>

#include "meta/model/codec.h"

namespace aquifer::meta::redis {

std::string keyOfGroup(Kind kind, uint64_t id) {
  switch (kind) {
    case Kind::dentry: return numbered("d", id);
    case Kind::xattr: return numbered("x", id);
    case Kind::parentCount: return numbered("p", id);
    case Kind::sustained: return numbered("session", id);
    default: return {};
  }
}

namespace {
constexpr Kind kGroupsOfNode[] = {Kind::xattr, Kind::dentry, Kind::parentCount};  // in the order of the script
}

// The words of one read script call, and how its answer is taken apart.
class RedisTxn::Batch {
 public:
  Status add(const Key& key, Follow follow) {
    TRY_ASSIGN(auto cells, cellsOf(key));
    for (auto& cell : cells) keys.insert(cell.key);
    if (key.kind == Kind::dentry && follow != Follow::no) {
      words.insert(words.end(), {"E", cells[0].key, key.name});
    } else {
      for (auto& cell : cells) {
        auto command = readCommand(cell);
        words.push_back(std::to_string(command.size()));
        words.insert(words.end(), std::make_move_iterator(command.begin()), std::make_move_iterator(command.end()));
      }
    }
    wanted.emplace_back(key, std::move(cells));
    return {};
  }
  std::vector<std::string> words;
  std::set<std::string> keys;
  std::vector<std::pair<Key, std::vector<Cell>>> wanted;
};

Status RedisTxn::fetch(std::span<const Key> keys, Follow follow, uint32_t fields) {
  Batch batch;
  for (auto& key : keys) {
    if (auto known = facts_.find(key); known != facts_.end()) {
      if ((known->second.doubtful & fields) == 0) continue;
      recent_.forget(key);
      // Something was decided on it already: let the transaction run again, without guesses.
      wrong_ |= known->second.used;
      if (known->second.used) continue;
      facts_.erase(known);
    }
    if (!guess(key, follow, fields)) TRY(batch.add(key, follow));
  }
  if (batch.wanted.empty()) return {};
  ++trips_;
  bool withNodes = false;
  for (auto& [key, cells] : batch.wanted) withNodes |= key.kind == Kind::dentry && follow != Follow::no;
  if (batch.wanted.size() == 1 && batch.wanted[0].second.size() == 1 && !withNodes) {
    auto& [key, cells] = batch.wanted[0];
    TRY_ASSIGN(auto reply, client_.readOne(readCommand(cells[0])));
    TRY_ASSIGN(auto value, decodeCell(cells[0], reply.view()));
    facts_[key].cells.push_back(std::move(value));
    remember(key);
    return {};
  }
  std::vector<std::string> names(batch.keys.begin(), batch.keys.end());
  TRY_ASSIGN(auto reply, client_.readScript(readScript(), names, batch.words));
  auto answer = reply.view();
  std::vector<Key> follows;
  size_t next = 0;
  auto take = [&](const Cell& cell) -> Result<CellValue> {
    if (next >= answer.size()) return unexpectedReply("a read");
    return decodeCell(cell, answer[next++]);
  };
  for (auto& [key, cells] : batch.wanted) {
    Fact fact;
    for (auto& cell : cells) {
      TRY_ASSIGN(auto value, take(cell));
      fact.cells.push_back(std::move(value));
    }
    if (key.kind == Kind::dentry && follow != Follow::no) {
      TRY_ASSIGN(auto node, take({Cell::Type::string, {}, {}}));
      Ino ino = 0;
      if (fact.cells[0].present)
        if (auto dentry = decodeDentry(fact.cells[0].bytes)) ino = dentry->ino;
      if (ino != 0) {
        auto [place, isNew] = facts_.try_emplace(key::node(ino));
        if (isNew) {
          place->second.cells.push_back(std::move(node));
          follows.push_back(place->first);
        }
      }
      for (auto kind : kGroupsOfNode) {
        if (next >= answer.size()) return unexpectedReply("a read");
        bool empty = answer[next++].integer() == 0;
        if (ino != 0) groups_.try_emplace({kind, ino}, Group{.empty = empty});
      }
    }
    facts_.try_emplace(key, std::move(fact));
    remember(key);
  }
  for (auto& key : follows) remember(key);
  return {};
}

// For the guesses of later transactions.
void RedisTxn::remember(const Key& key) {
  if (!Recent::keeps(key)) return;
  auto& cell = facts_.at(key).cells[0];
  Recent::Fact fact;
  if (cell.present) fact.bytes = cell.bytes;
  auto nothing = [&](Kind kind) {
    auto group = key.kind == Kind::node ? groups_.find({kind, key.id}) : groups_.end();
    return group != groups_.end() && group->second.empty;
  };
  fact.noXattrs = nothing(Kind::xattr);
  fact.noEntries = nothing(Kind::dentry);
  fact.noParents = nothing(Kind::parentCount);
  recent_.put(key, std::move(fact));
}

void RedisTxn::assume(const Key& key, const Recent::Fact& known) {
  auto [place, isNew] = facts_.try_emplace(key);
  if (!isNew) return;
  place->second.cells.push_back({known.bytes.has_value(), known.bytes.value_or(std::string()), {}});
  place->second.doubtful = known.doubtful;
  guessed_ = true;
  if (key.kind != Kind::node) return;
  for (auto& [kind, empty] : {std::pair(Kind::xattr, known.noXattrs), std::pair(Kind::dentry, known.noEntries),
                              std::pair(Kind::parentCount, known.noParents)})
    if (empty) groups_.try_emplace({kind, key.id}, Group{.empty = true});
}

bool RedisTxn::guess(const Key& key, Follow follow, uint32_t fields) {
  if (!mayGuess_ || !Recent::keeps(key)) return false;
  auto known = recent_.find(key);
  if (!known || (known->doubtful & fields) != 0) return false;
  if (key.kind == Kind::dentry && follow == Follow::node && known->bytes) {
    auto dentry = decodeDentry(*known->bytes);
    if (!dentry) return false;
    auto node = recent_.find(key::node(dentry->ino));
    if (!node || !node->bytes) return false;
    assume(key::node(dentry->ino), *node);
  }
  assume(key, *known);
  return true;
}

void RedisTxn::settle(const Status& outcome, bool wrote) {
  for (auto& [key, fact] : facts_) {
    if (!fact.used) continue;
    if (outcome)
      recent_.confirm(key);
    else
      recent_.forget(key);
  }
  if (!wrote) return;
  for (auto& [key, change] : writes().changes()) {
    switch (key.kind) {
      case Kind::xattr:
      case Kind::parentCount: recent_.fills(key.kind, key.id); break;
      case Kind::dentry: recent_.fills(key.kind, key.id); [[fallthrough]];
      case Kind::node:
        if (!outcome)
          recent_.forget(key);
        else if (change.base == Change::Base::erase)
          recent_.put(key, {});
        else if (change.isVerbs())
          recent_.doubt(key, kFieldTimes | kFieldNlink);
        else if (auto* attr = std::get_if<Attr>(&change.value); attr && change.base == Change::Base::insert)
          recent_.put(key, {encodeAttr(*attr), true, true, true});
        else if (attr)
          recent_.replace(key, encodeAttr(*attr));
        else if (auto* dentry = std::get_if<Dentry>(&change.value))
          recent_.put(key, {encodeDentry(*dentry)});
        break;
      default: break;
    }
  }
}

void RedisTxn::prefetch(std::span<const Key> keys) {
  // A hint: if it fails, the read that needs the record fails.
  static_cast<void>(fetch(keys, Follow::node, 0));
}

Result<std::optional<Value>> RedisTxn::use(const Key& key, uint32_t fields) {
  auto& fact = facts_.at(key);
  fact.used = true;
  fact.fields |= fields;
  return decodeRecord(key, fact.cells);
}

Result<std::optional<Value>> RedisTxn::readRecord(const Key& key, uint32_t fields) {
  TRY(fetch({&key, 1}, Follow::no, fields));
  return use(key, fields);
}

Result<std::optional<LookupResult>> RedisTxn::readEntry(Ino parent, std::string_view name, uint32_t fields) {
  auto key = key::dentry(parent, name);
  TRY(fetch({&key, 1}, Follow::node, fields));
  TRY_ASSIGN(auto entry, use(key, kFieldsAll));
  auto* dentry = entry ? std::get_if<Dentry>(&*entry) : nullptr;
  if (!dentry) return std::optional<LookupResult>();
  LookupResult out{*dentry, std::nullopt};
  TRY_ASSIGN(auto node, readRecord(key::node(dentry->ino), fields));
  if (auto* attr = node ? std::get_if<Attr>(&*node) : nullptr) out.attr = *attr;
  return std::optional<LookupResult>(std::move(out));
}

Result<bool> RedisTxn::readEmpty(Kind kind, uint64_t id) {
  if (auto known = groups_.find({kind, id}); known != groups_.end()) {
    known->second.relied = true;
    return known->second.empty;
  }
  auto key = keyOfGroup(kind, id);
  if (key.empty()) {
    bool empty = true;
    TRY(readRange(Range{kind, id, std::nullopt, 1}, [&](const Key&, const Value&) { return empty = false; }));
    return empty;
  }
  ++trips_;
  TRY_ASSIGN(auto reply, client_.readOne({"EXISTS", key}));
  if (!reply.view().isInteger()) return unexpectedReply("EXISTS");
  bool empty = reply.view().integer() == 0;
  groups_[{kind, id}] = {.empty = empty, .relied = true};
  return empty;
}

Status RedisTxn::expectFact(CommitPlan& plan, const Key& key, const Fact& fact) {
  TRY_ASSIGN(auto cells, cellsOf(key));
  if (key.kind != Kind::node || !fact.cells[0].present) {
    for (size_t i = 0; i < cells.size(); ++i) plan.expectCell(cells[i], fact.cells[i]);
    return {};
  }
  // A record that is put as a whole was relied on as a whole, or the put could undo a change of the fields not looked at.
  auto* change = writes().find(key);
  plan.expectNode(cells[0], fact.cells[0].bytes, change && !change->isVerbs() ? kFieldsAll : fact.fields);
  return {};
}

Status RedisTxn::expectInserts(CommitPlan& plan) {
  for (auto& [key, change] : writes().changes()) {
    if (change.base != Change::Base::insert) continue;
    if (auto fact = facts_.find(key); fact != facts_.end() && fact->second.used) {
      if (fact->second.cells[0].present) return Code::conflict;
      continue;
    }
    TRY_ASSIGN(auto cells, cellsOf(key));
    plan.expectAbsent(cells[0]);
  }
  return {};
}

Status RedisTxn::expectReads(CommitPlan& plan) {
  for (auto& [key, fact] : facts_)
    if (fact.used) TRY(expectFact(plan, key, fact));
  // That there was something was true when it was read, and nobody writes because of it.
  for (auto& [id, group] : groups_)
    if (group.relied && group.empty) plan.expectNoKey(keyOfGroup(id.first, id.second));
  return {};
}

Status RedisTxn::finish(bool withWrites) {
  if (wrong_) return Code::conflict;
  bool writes = withWrites && !this->writes().empty();
  if (!writes && trips_ <= 1 && !guessed_) return {};
  CommitPlan plan = std::move(ranges_);
  TRY(expectReads(plan));
  if (writes) {
    TRY(expectInserts(plan));
    std::vector<uint64_t> trimmed;
    for (auto& [key, change] : this->writes().changes()) {
      if (key.kind == Kind::changeLog)
        trimmed.push_back(key.id);
      else
        TRY(plan.write(key, change));
    }
    TRY(plan.trimLog(trimmed));
    TRY(plan.writeLog(this->writes().logs()));
  }
  if (plan.empty()) return {};
  auto outcome = plan.commit(client_);
  settle(outcome, writes);
  return outcome;
}

}  // namespace aquifer::meta::redis
