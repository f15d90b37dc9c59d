// A transaction that keeps its writes in memory and lays them over what the store answers: read-your-writes, once for all stores.
// A store implements the read… calls, which see committed records only, and applies `writes()` at the commit.
#pragma once

#include <map>

#include "meta/store/txn.h"
#include "meta/store/write_set.h"

namespace aquifer::meta {

class BufferedTxn : public MetaTxn {
 public:
  explicit BufferedTxn(OverlayRules rules) : writes_(rules) {}

  Result<std::optional<Value>> get(const Key& key, uint32_t fields = kFieldsAll) override;
  Result<std::optional<LookupResult>> lookup(Ino parent, std::string_view name, uint32_t fields = kFieldsAll) override;
  Status list(const Range& range, const Visit& visit) override;
  Result<std::vector<DirEntry>> listDir(Ino dir, std::string_view afterName, size_t limit, bool plus) override;
  Result<bool> isEmpty(Kind kind, uint64_t id) override;

  void put(Key key, Value value) override { writes_.put(std::move(key), std::move(value), Change::Base::put); }
  void insert(Key key, Value value) override { writes_.put(std::move(key), std::move(value), Change::Base::insert); }
  void erase(Key key) override { writes_.erase(std::move(key)); }
  void add(Key counterOrCount, int64_t delta) override;
  void addNlink(Ino dir, int delta) override;
  void touch(Ino dir, Time now, int64_t skipNanos) override;
  void appendSlice(Ino ino, uint32_t index, const Slice& slice, uint32_t* recordCount = nullptr) override;
  void addDirStat(Ino dir, const DirStat& delta) override;
  void addQuota(Kind kind, uint64_t id, int64_t space, int64_t inodes) override;
  void log(std::string changeLogEntry) override { writes_.log(std::move(changeLogEntry)); }
  void shared(Ino) override {}
  void exclusive(Ino) override {}

  const WriteSet& writes() const { return writes_; }

 protected:
  virtual Result<std::optional<Value>> readRecord(const Key& key, uint32_t fields) = 0;
  virtual Result<std::optional<LookupResult>> readEntry(Ino parent, std::string_view name, uint32_t fields) = 0;
  virtual Status readRange(const Range& range, const Visit& visit) = 0;
  virtual Result<std::vector<DirEntry>> readDir(Ino dir, std::string_view afterName, size_t limit, bool plus) = 0;
  virtual Result<bool> readEmpty(Kind kind, uint64_t id) = 0;

 private:
  Result<std::optional<Value>> overlay(const Key& key, const Change& change, uint32_t fields);
  Status mergedList(const Range& range, const Visit& visit);
  // Links to `ino` that this transaction adds or takes away, by parent (all parents, or one).
  Status pendingLinks(Ino ino, std::optional<Ino> parent, std::map<Ino, int64_t>& delta);
  Result<std::optional<Value>> derivedParent(const Key& key);
  Status listDerivedParents(const Range& range, const Visit& visit);

  WriteSet writes_;
};

// Calls a body. Bodies must not throw; one that does anyway becomes Code::io here and fails alone.
Status runBody(const TxnBody& body, MetaTxn& txn);

}  // namespace aquifer::meta
