// A transaction body's view of a Redis server. Reads are remembered byte for byte; the commit sends what the body relied on
// together with what it wrote, in one script call (validated commit: docs/decisions/0002-guards.md). Nothing is held on the
// server in between.
#pragma once

#include <map>
#include <set>

#include "meta/store/buffered_txn.h"
#include "meta/store/redis/commit_plan.h"
#include "meta/store/redis/recent.h"
#include "meta/store/redis/windows.h"

namespace aquifer::meta::redis {

class RedisTxn : public BufferedTxn {
 public:
  // How far reads are trusted. readOnly: they are answers and nothing more. validated: they are checked by finish(). guessing: as
  // validated, and what this client knows from before stands in for reads.
  enum class Mode : uint8_t { readOnly, validated, guessing };
  RedisTxn(Client& client, Windows& windows, Recent& recent, Mode mode)
      : BufferedTxn(kRedisRules),
        client_(client),
        windows_(windows),
        recent_(recent),
        validated_(mode != Mode::readOnly),
        mayGuess_(mode == Mode::guessing) {}

  bool guessed() const { return guessed_; }
  void prefetch(std::span<const Key> keys) override;

  // Checks what the body relied on and writes: ok, conflict, maybeCommitted, unavailable … Without `withWrites` only the check; a
  // transaction whose reads were all of one instant needs none and gets none.
  Status finish(bool withWrites);

 protected:
  Result<std::optional<Value>> readRecord(const Key& key, uint32_t fields) override;
  Result<std::optional<LookupResult>> readEntry(Ino parent, std::string_view name, uint32_t fields) override;
  Status readRange(const Range& range, const Visit& visit) override;
  Result<std::vector<DirEntry>> readDir(Ino dir, std::string_view afterName, size_t limit, bool plus) override;
  Result<bool> readEmpty(Kind kind, uint64_t id) override;

 private:
  struct Fact {
    std::vector<CellValue> cells;
    bool used = false;
    uint32_t fields = 0;
    uint32_t doubtful = 0;  // of a guess: these fields are known to be out of date
  };
  enum class Follow : uint8_t { no, node };  // from an entry
  class Batch;

  // Reads what is not known yet, in one trip and at one instant.
  Status fetch(std::span<const Key> keys, Follow follow, uint32_t fields);
  Result<std::optional<Value>> use(const Key& key, uint32_t fields);
  Status readRecords(std::span<const Key> keys, std::vector<std::optional<Value>>& out);
  Status expectReads(CommitPlan& plan);
  Status expectFact(CommitPlan& plan, const Key& key, const Fact& fact);
  Status expectInserts(CommitPlan& plan);

  // ---- ranges (redis_ranges.cc) ----
  Status listFlat(const NumberSource& source, const Range& range, const Visit& visit);
  Status listLocks(const Range& range, const Visit& visit);
  Status listOne(const Range& range, const Visit& visit);
  Status listNested(const NumberSource& source, const Range& range, const Visit& visit);
  Status listWithin(const Range& range, const Visit& visit, size_t& left, bool& more);
  Status listDentries(const Range& range, const Visit& visit, size_t& left, bool& more);
  Status listChunks(const Range& range, const Visit& visit);
  Status listCounters(const Range& range, const Visit& visit);
  Status listLog(const Range& range, const Visit& visit);
  Status visitRecords(std::span<const Key> keys, const Visit& visit, size_t& left, bool& more);
  Result<std::vector<NamedItem>> dirPage(Ino dir, std::string_view after, size_t limit);
  void relyOnDir(Ino dir, std::string_view after, const Window<NamedItem>& window);
  Status readNodes(std::vector<DirEntry>& entries);
  Status readParents(const std::vector<DirEntry>& entries);

  // ---- guesses ----
  bool guess(const Key& key, Follow follow, uint32_t fields);
  void assume(const Key& key, const Recent::Fact& known);
  void remember(const Key& key);
  void settle(const Status& outcome, bool wrote);  // of a commit: what is known now

  Client& client_;
  Windows& windows_;
  Recent& recent_;
  const bool validated_, mayGuess_;
  bool guessed_ = false, wrong_ = false;
  int trips_ = 0;
  std::map<Key, Fact> facts_;
  struct Group {
    bool empty = true, relied = false;
    std::optional<std::vector<std::string>> items;  // when they were read ahead: only where nothing is validated
  };
  std::map<std::pair<Kind, uint64_t>, Group> groups_;  // what is known of all records of (kind, id) together
  CommitPlan ranges_;                                  // what was relied on beyond single records
};

// The key that holds all records of (kind, id), for kinds that have one; empty for others.
std::string keyOfGroup(Kind kind, uint64_t id);

}  // namespace aquifer::meta::redis
