// A transaction body's view of an SQL database: reads through the mapping, writes buffered and applied after the body.
#pragma once

#include "meta/store/buffered_txn.h"
#include "meta/store/sql/mapping.h"

namespace aquifer::meta::sql {

// Verbs on hot records (usage counters, directory statistics, quotas) of the transactions that share one commit: kept here and
// applied once at its end, whatever the number of transactions. One thread at a time.
class GroupVerbs {
 public:
  static bool takes(const Key& key, const Change& change);
  void add(const Key& key, const Change& change);
  // What is pending for a record, or nullptr.
  const Change* find(const Key& key) const;
  bool touches(Kind kind) const;
  // The record is replaced or removed: what was pending is part of the past.
  void forget(const Key& key) { pending_.erase(key); }
  Status flush(Mapping& mapping);
  void clear() { pending_.clear(); }

 private:
  std::map<Key, Change> pending_;
};

class SqlTxn : public BufferedTxn {
 public:
  SqlTxn(Mapping& mapping, GroupVerbs& group) : BufferedTxn(kSqlRules), mapping_(mapping), group_(group) {}
  // Writes everything; on an error the database transaction holds a part of it and must be rolled back.
  Status apply();

 protected:
  Result<std::optional<Value>> readRecord(const Key& key, uint32_t fields) override;
  Result<std::optional<LookupResult>> readEntry(Ino parent, std::string_view name, uint32_t fields) override;
  Status readRange(const Range& range, const Visit& visit) override;
  Result<std::vector<DirEntry>> readDir(Ino dir, std::string_view afterName, size_t limit, bool plus) override;
  Result<bool> readEmpty(Kind kind, uint64_t id) override;

 private:
  Mapping& mapping_;
  GroupVerbs& group_;
};

}  // namespace aquifer::meta::sql
