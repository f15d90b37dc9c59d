// Records <-> rows of JuiceFS's tables, over any connection that speaks SQL. Knows layouts, no rules of the file system.
// As thread-safe as its connection: one thread at a time.
#pragma once

#include <utility>
#include <vector>

#include "meta/store/sql/connection.h"
#include "meta/store/sql/statements.h"
#include "meta/store/txn.h"
#include "meta/store/write_set.h"

namespace aquifer::meta::sql {

inline constexpr OverlayRules kSqlRules{true, false};

class Mapping {
 public:
  Mapping(Connection& connection, const Statements& statements) : db_(connection), sql_(statements) {}

  Result<std::optional<Value>> get(const Key& key);
  Result<std::optional<LookupResult>> lookup(Ino parent, std::string_view name);
  Status list(const Range& range, const Visit& visit);
  Result<std::vector<DirEntry>> listDir(Ino dir, std::string_view afterName, size_t limit, bool plus);
  Result<bool> isEmpty(Kind kind, uint64_t id);
  Result<std::vector<std::pair<SliceId, uint32_t>>> unusedSlices(size_t limit);

  // Writes one change; Code::conflict if an insert finds the record there.
  Status apply(const Key& key, const Change& change);
  Status log(const std::string& entry);

 private:
  Result<Use> use(int id);
  Result<Use> use(Kind kind, Shape shape) { return use(Statements::id(kind, shape)); }
  Result<Use> use(Special s) { return use(Statements::id(s)); }
  Status runOnce(Use& statement);
  Result<int64_t> runCounting(Use& statement);

  Result<std::optional<Value>> getAclMax();
  Result<std::optional<Value>> getSession(const Key& key);
  Status listRecords(const Range& range, const Visit& visit);
  Status listSessionsOfBoth(const Range& range, const Visit& visit);
  Status listLocks(const Range& range, const Visit& visit);
  Status listParents(const Range& range, const Visit& visit);

  Status write(const Key& key, const Change& change);
  Status erase(const Key& key);
  Status putAclMax(int64_t value);
  Status writeLocks(const Key& key, const Value& value);
  Status applyVerbs(const Key& key, const Change& verbs);
  Status addNumber(const Key& key, int64_t delta);
  Status changeNode(const Key& key, const Change& verbs);
  Status appendChunk(const Key& key, const Change& verbs);
  Status addQuota(const Key& key, const Quota& delta);

  Connection& db_;
  const Statements& sql_;
};

}  // namespace aquifer::meta::sql
