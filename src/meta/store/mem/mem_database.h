// The data of one in-memory store: records with their versions, guards, and the check of a commit. All members under `mu`.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include "meta/store/mem/mem_store.h"
#include "meta/store/write_set.h"

namespace aquifer::meta::mem {

inline constexpr OverlayRules kMemRules{false, true};

struct Version {
  uint64_t at = 0;  // commit that wrote it
  std::optional<Value> value;
};

// Part of a key range that a body has seen: keys of `kind` (and `id`) after `after`, up to and with `upTo` (nullopt: to the end).
struct Seen {
  Kind kind;
  std::optional<uint64_t> id;
  std::optional<Key> after, upTo;
};

// What a body relied on.
struct ReadSet {
  std::map<Key, uint32_t> fields;  // mask per record; records other than nodes count as a whole
  std::vector<Seen> ranges;
  std::set<Ino> shared, exclusive;
};

struct Database {
  std::mutex mu;
  std::map<Key, std::vector<Version>> records;  // versions ascending
  uint64_t now = 0;                             // number of the last commit
  uint64_t lastLog = 0;
  uint64_t attempts = 0;
  std::multiset<uint64_t> snapshots;  // of the transactions that run
  MemFaults faults;
  std::mt19937_64 dice{1};

  // As of commit `at`.
  const Value* find(const Key& key, uint64_t at) const;
  std::map<Key, std::vector<Version>>::const_iterator first(const Seen& range) const;
  static bool within(const Key& key, const Seen& range);

  // Does everything that a body relied on at `snapshot` still hold?
  bool holds(const ReadSet& reads, uint64_t snapshot) const;
  // Writes at once; Code::conflict (and nothing written) if an insert meets a record.
  Status apply(const WriteSet& writes, const ReadSet& reads);
  void dropAll();
  void end(uint64_t snapshot);

 private:
  struct GuardTimes {
    uint64_t shared = 0, exclusive = 0;
  };
  bool recordHolds(const Key& key, uint32_t fields, uint64_t snapshot) const;
  bool guardsHold(const ReadSet& reads, uint64_t snapshot) const;
  void write(const Key& key, std::optional<Value> value);
  uint64_t oldestSnapshot() const { return snapshots.empty() ? now : *snapshots.begin(); }

  std::unordered_map<Ino, GuardTimes> guards_;
  std::deque<std::pair<uint64_t, Key>> tombstones_;
};

// Do two states of a record agree in the fields?
bool sameFields(const std::optional<Value>& a, const std::optional<Value>& b, uint32_t fields);

}  // namespace aquifer::meta::mem
