// flock and POSIX record locks. They live in the database, so that all clients see them; waiting is polling, sped up by
// releases of this process.
#include <algorithm>
#include <map>

#include "base/clock.h"
#include "meta/ops/changelog.h"
#include "meta/ops/lock_ranges.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr int64_t kFirstPollMs = 1, kLastPollMs = 10;
constexpr int64_t kDeadlockCheckNanos = 20'000'000;
constexpr auto kNoLocks = static_cast<Code>(ENOLCK);

char flockLetter(LockType type) { return type == LockType::read ? 'R' : type == LockType::write ? 'W' : 'U'; }

bool flockConflict(const FlockTable& table, SessionId sid, uint64_t owner, LockType type) {
  return std::any_of(table.begin(), table.end(), [&](const FlockEntry& e) {
    return !(e.sid == sid && e.owner == owner) && (type == LockType::write || e.type == 'W');
  });
}

template <class Table>
void putTable(MetaTxn& tx, const Key& key, Table table) {
  if (table.empty())
    tx.erase(key);
  else
    tx.put(key, std::move(table));
}

}  // namespace

// Calls attempt() until it gives something else than wouldBlock. stuck() is asked now and then and ends the wait with deadlock.
Status MetaImpl::waitForLock(const Context& ctx, const std::function<Status()>& attempt,
                             const std::function<Result<bool>()>& stuck) {
  int64_t pollMs = kFirstPollMs, checked = 0;
  for (;;) {
    // Read before the attempt: a commit between the two must not look like "nothing has changed".
    const uint64_t seen = store_->changeCounter();
    auto s = attempt();
    if (!s.is(Code::wouldBlock)) return s;
    if (const int64_t at = monotonicNanos(); stuck && at - checked >= kDeadlockCheckNanos) {
      checked = at;
      TRY_ASSIGN(const bool dead, stuck());
      if (dead) return Code::deadlock;
    }
    do {
      if (ctx.isInterrupted() || quitting_.load(std::memory_order_acquire)) return Code::interrupted;
      lockWaits_.sleep(pollMs);
      pollMs = std::min(pollMs * 2, kLastPollMs);
      if (stuck && monotonicNanos() - checked >= kDeadlockCheckNanos) break;
    } while (seen != 0 && store_->changeCounter() == seen);
  }
}

Status MetaImpl::flock(const Context& ctx, Ino ino, uint64_t owner, LockType type, bool block) {
  ino = real(ino);
  const auto key = key::flock(ino);
  const SessionId me = sid();
  const auto mine = [&](const FlockEntry& e) { return e.sid == me && e.owner == owner; };
  const auto attempt = [&]() -> Status {
    // Most calls change nothing (unlock at every close) or find a conflict: a read answers these.
    bool needed = false;
    TRY(read("flock", [&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(const auto table, tx.find<FlockTable>(key));
      const FlockTable none;
      const auto& t = table ? *table : none;
      if (type != LockType::unlock && flockConflict(t, me, owner, type)) return Code::wouldBlock;
      const auto own = std::find_if(t.begin(), t.end(), mine);
      needed = type == LockType::unlock ? own != t.end() : own == t.end() || own->type != flockLetter(type);
      return {};
    }));
    if (!needed) return {};
    return txn(
        "flock",
        [&](MetaTxn& tx) -> Status {
          TRY_ASSIGN(auto stored, tx.find<FlockTable>(key));
          FlockTable table = stored ? std::move(*stored) : FlockTable();
          if (type == LockType::unlock) {
            std::erase_if(table, mine);
          } else {
            TRY(tx.node(ino, kFieldType));
            if (flockConflict(table, me, owner, type)) return Code::wouldBlock;
            const auto own = std::find_if(table.begin(), table.end(), mine);
            if (own != table.end())
              own->type = flockLetter(type);
            else
              table.push_back({me, owner, flockLetter(type)});
          }
          putTable(tx, key, std::move(table));
          if (logging()) log(tx, changelog::flock(ino, owner, flockLetter(type)));
          return {};
        },
        [](MetaTxn&) -> Result<bool> { return false; });  // taking or dropping a lock twice is the same as once
  };
  auto s = block && type != LockType::unlock ? waitForLock(ctx, attempt, {}) : attempt();
  if (s && type != LockType::write) lockWaits_.released();  // a downgrade lets readers in
  return s;
}

Result<LockRange> MetaImpl::getlk(const Context&, Ino ino, uint64_t owner, const LockRange& want) {
  ino = real(ino);
  LockRange answer{kRangeUnlock, 0, 0, 0};
  if (want.type == kRangeUnlock) return want;
  TRY(read("getlk", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(const auto table, tx.find<PlockTable>(key::plock(ino)));
    if (!table) return {};
    if (const auto c = findConflict(*table, sid(), owner, want)) {
      answer = c->range;
      if (c->sid != sid()) answer.pid = 0;  // a process number of another machine means nothing here
    }
    return {};
  }));
  return answer;
}

Status MetaImpl::setlk(const Context& ctx, Ino ino, uint64_t owner, const LockRange& range, bool block) {
  if (range.type > kRangeUnlock || range.start > range.end) return Code::invalid;
  ino = real(ino);
  const auto key = key::plock(ino);
  const SessionId me = sid();
  const auto mine = [&](const PlockEntry& e) { return e.sid == me && e.owner == owner; };
  const auto attempt = [&]() -> Status {
    bool needed = false;
    TRY(read("setlk", [&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(const auto stored, tx.find<PlockTable>(key));
      const PlockTable none;
      const auto& t = stored ? *stored : none;
      if (range.type != kRangeUnlock && findConflict(t, me, owner, range)) return Code::wouldBlock;
      const auto own = std::find_if(t.begin(), t.end(), mine);
      const auto before = own == t.end() ? std::vector<LockRange>() : own->ranges;
      needed = applyRange(before, range) != before;
      return {};
    }));
    if (!needed) return {};
    return txn(
        "setlk",
        [&](MetaTxn& tx) -> Status {
          TRY_ASSIGN(auto stored, tx.find<PlockTable>(key));
          PlockTable table = stored ? std::move(*stored) : PlockTable();
          if (range.type != kRangeUnlock) {
            TRY(tx.node(ino, kFieldType));
            if (findConflict(table, me, owner, range)) return Code::wouldBlock;
          }
          auto own = std::find_if(table.begin(), table.end(), mine);
          if (own == table.end()) own = table.insert(table.end(), {me, owner, {}});
          own->ranges = applyRange(own->ranges, range);
          if (own->ranges.size() > kMaxLockRanges) return kNoLocks;
          if (own->ranges.empty()) table.erase(own);
          putTable(tx, key, std::move(table));
          if (logging()) log(tx, changelog::setLk(ino, owner, range));
          return {};
        },
        [](MetaTxn&) -> Result<bool> { return false; });
  };
  Status s = attempt();
  if (s.is(Code::wouldBlock) && block && range.type != kRangeUnlock) {
    const uint64_t number = lockWaits_.arrive(ino, owner, range);
    s = waitForLock(ctx, attempt, [&] { return deadlocked(number); });
    lockWaits_.leave(number);
  }
  if (s && range.type != kRangeWrite) lockWaits_.released();
  return s;
}

// Who waits for whom is decided by the stored locks of one instant, so that locks which have been given up meanwhile cannot make
// a cycle. Waiters of other mounts are not stored anywhere and are not seen.
Result<bool> MetaImpl::deadlocked(uint64_t waiter) {
  const auto waiters = lockWaits_.candidates();
  if (waiters.empty()) return false;
  bool found = false;
  TRY(read("deadlock", [&](MetaTxn& tx) -> Status {
    std::map<Ino, PlockTable> tables;
    const auto edges = [&](size_t i) -> Result<std::vector<size_t>> {
      const auto& w = waiters[i];
      auto at = tables.find(w.ino);
      if (at == tables.end()) {
        TRY_ASSIGN(auto stored, tx.find<PlockTable>(key::plock(w.ino)));
        at = tables.emplace(w.ino, stored ? std::move(*stored) : PlockTable()).first;
      }
      std::vector<size_t> out;
      for (const auto& c : allConflicts(at->second, sid(), w.owner, w.want))
        for (size_t k = 0; c.sid == sid() && k < waiters.size(); ++k)
          if (waiters[k].owner == c.owner) out.push_back(k);
      return out;
    };
    TRY_ASSIGN(found, closesCycle(waiters, edges, waiter));
    return {};
  }));
  return found;
}

Result<std::pair<FlockTable, PlockTable>> MetaImpl::locks(Ino ino) {
  ino = real(ino);
  std::pair<FlockTable, PlockTable> out;
  TRY(read("locks", [&](MetaTxn& tx) -> Status {
    out = {};
    TRY_ASSIGN(auto flocks, tx.find<FlockTable>(key::flock(ino)));
    if (flocks) out.first.swap(*flocks);
    TRY_ASSIGN(auto plocks, tx.find<PlockTable>(key::plock(ino)));
    if (plocks) out.second.swap(*plocks);
    return {};
  }));
  return out;
}

}  // namespace aquifer::meta
