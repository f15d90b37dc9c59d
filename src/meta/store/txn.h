// The contract between operations, which know the rules of the file system, and stores, which know a layout.
//
// A transaction body reads records, decides, and writes. Writes are buffered in the MetaTxn and reach the store only
// when the body returned ok: a body that returns an error has changed nothing. The body may run several times (see
// withTxn in with_txn.h): it must have no effect outside the transaction and must start from its inputs each time.
//
//  * Read your writes: get, lookup, list see the body's own puts, erases and verbs.
//  * Validation: a commit succeeds only if everything the body *relied on* still holds: for each get the fields it named
//    (default: the whole record), absences, and for each list/isEmpty the range that was visited. Otherwise Code::conflict.
//    Verbs (add, touch, appendSlice …) rely on nothing and never conflict among each other.
//  * Guards. `shared(dir)`: "this directory still exists and is not being removed or moved when I commit"; many holders do not
//    conflict. `exclusive(dir)`: conflicts with every concurrent shared and exclusive holder of the same directory: rmdir,
//    emptiness, and the chain of ancestors of a directory move. A mapping states how it does both (docs/decisions/0002).
//  * Code::maybeCommitted: the outcome is unknown. Code::unavailable: nothing was committed.
//  * Size: one transaction stays below some 100 written records (etcd: 128 operations); larger work is split by the operation.
//  * A MetaTxn belongs to one thread at a time. A MetaStore is thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "meta/store/change_feed.h"
#include "meta/store/record.h"

namespace aquifer::meta {

struct DirEntry {
  std::string name;
  Dentry dentry;
  std::optional<Attr> attr;  // only in "plus" listings, and only if the node exists
};

// What to list: all records of `kind`, or with `id` those of one inode / session; ordered by (id, sub, name), after `after`.
struct Range {
  Kind kind = Kind::dentry;
  std::optional<uint64_t> id;
  std::optional<Key> after;  // exclusive
  size_t limit = SIZE_MAX;
  std::optional<uint64_t> below = {};  // hint: records whose sub is this or more are of no interest. A store without an order
                                       // over keys then counts instead of searching; others may visit more.
};
using Visit = std::function<bool(const Key&, const Value&)>;  // false: stop

struct LookupResult {
  Dentry dentry;
  std::optional<Attr> attr;  // nullopt: the node is missing (damage)
};

class MetaTxn {
 public:
  virtual ~MetaTxn() = default;

  // ---- reads ----
  // Hint: everything named here will be read; a remote store fetches it in one trip. Never fails by itself.
  // A dentry key is fetched jointly with the node that it names.
  virtual void prefetch(std::span<const Key> /*keys*/) {}
  virtual Result<std::optional<Value>> get(const Key& key, uint32_t fields = kFieldsAll) = 0;
  // Entry and its node, one trip (JOIN, script, or two gets).
  virtual Result<std::optional<LookupResult>> lookup(Ino parent, std::string_view name, uint32_t fields = kFieldsAll) = 0;
  virtual Status list(const Range& range, const Visit& visit) = 0;
  // Entries of a directory in byte order of names after `afterName` (exclusive; empty = from the start), with attributes if `plus`.
  virtual Result<std::vector<DirEntry>> listDir(Ino dir, std::string_view afterName, size_t limit, bool plus) = 0;
  // No record of (kind, id): a directory without dentries.
  virtual Result<bool> isEmpty(Kind kind, uint64_t id) = 0;

  // ---- writes ----
  virtual void put(Key key, Value value) = 0;   // insert or replace
  virtual void insert(Key key, Value value) = 0;  // the body has seen (or knows, for fresh ids) that it is absent
  virtual void erase(Key key) = 0;
  // ---- verbs: commutative, never in the way of each other ----
  virtual void add(Key counterOrCount, int64_t delta) = 0;        // counter, parentCount, sliceRef (an absent sliceRef counts as 1 holder)
  virtual void addNlink(Ino dir, int delta) = 0;
  virtual void touch(Ino dir, Time now, int64_t skipNanos) = 0;   // mtime = ctime = now if mtime is at least skipNanos older
  virtual void appendSlice(Ino ino, uint32_t index, const Slice& slice, uint32_t* recordCount = nullptr) = 0;  // *recordCount set at commit
  virtual void addDirStat(Ino dir, const DirStat& delta) = 0;     // only if the record exists
  virtual void addQuota(Kind kind, uint64_t id, int64_t space, int64_t inodes) = 0;  // dir: only if present; user/group: else inserted with -1/-1
  virtual void log(std::string changeLogEntry) = 0;
  // ---- guards ----
  virtual void shared(Ino dir) = 0;
  virtual void exclusive(Ino dir) = 0;

  // ---- typed helpers over get/put ----
  template <class T>
  Result<std::optional<T>> find(const Key& key, uint32_t fields = kFieldsAll) {
    TRY_ASSIGN(auto v, get(key, fields));
    if (!v) return std::optional<T>();
    if (auto* t = std::get_if<T>(&*v)) return std::optional<T>(std::move(*t));
    return Status(Code::corrupt, "record holds a value of another kind");
  }
  // The node, or Code::notFound.
  Result<Attr> node(Ino ino, uint32_t fields = kFieldsAll) {
    TRY_ASSIGN(auto a, find<Attr>(key::node(ino), fields));
    if (!a) return Code::notFound;
    return *a;
  }
};

// What a store can do; operations and tests read these instead of names.
struct StoreTraits {
  std::string name;              // "sqlite3", "mem", "redis", …; shown in `status` and logs
  bool parentsFromDentries = false;  // parentCount is derived (SQL)
  bool countersInTxn = true;     // usage counters may be changed inside operations without contention
  bool changeLog = true;
  size_t maxRecordsPerTxn = 100;
  bool embedded = false;         // no network: background work may be chatty
  bool snapshots = true;         // a read-only transaction sees one state; false: each of its reads sees the state of its moment
  bool keepsEmptyLists = true;   // a chunk without records is a record; false: it is none
};

using TxnBody = std::function<Status(MetaTxn&)>;

struct TxnOptions {
  std::string_view operation = "txn";  // for metrics and traces
  bool powerSafe = false;              // commit survives power loss, not only the death of processes
  bool readOnly = false;               // a consistent view where the store has one; writes are a bug
};

class MetaStore {
 public:
  virtual ~MetaStore() = default;
  virtual const StoreTraits& traits() const = 0;
  // One attempt at `body`, which a store may run twice for it (first on what it remembers, then on what it reads). Returns the body's own error, or ok, conflict, maybeCommitted, unavailable, io, corrupt.
  // A store may run several bodies of different threads in one durable commit; it returns when this one is committed.
  virtual Status run(const TxnBody& body, const TxnOptions& options) = 0;
  // Create tables that are missing, add missing columns. Idempotent. `formatting`: an empty database is expected to become a volume.
  virtual Status prepareSchema(bool formatting) = 0;
  // Is there anything at all in the database?
  virtual Result<bool> isEmpty() = 0;
  // Remove everything (destroy).
  virtual Status drop() = 0;
  // Everything acknowledged so far survives power loss when this returns ok.
  virtual Status sync() = 0;
  // Changes when anybody, in this process or another, has committed; 0 where the store cannot tell. Cheap.
  virtual uint64_t changeCounter() { return 0; }
  // Tells `sink` of commits, begins with live() or, if that takes a moment, lost(). One at a time. Code::unsupported where the store
  // cannot; unavailable where the system does not let it.
  virtual Result<std::unique_ptr<ChangeFeed>> watch(ChangeSink& /*sink*/) { return Code::unsupported; }
  // References with a count <= 0 (slices waiting for deletion); at most `limit`.
  virtual Result<std::vector<std::pair<SliceId, uint32_t>>> unusedSlices(size_t limit) = 0;
};

}  // namespace aquifer::meta
