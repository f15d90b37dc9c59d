#include "meta/store/mem/mem_store.h"

#include <algorithm>
#include <map>
#include <thread>

#include "meta/store/buffered_txn.h"
#include "meta/store/mem/mem_database.h"

namespace aquifer::meta {

namespace mem {
namespace {

constexpr size_t kPage = 256;

// A snapshot that is told to the database for as long as it is used.
class Snapshot {
 public:
  explicit Snapshot(Database& db) : db_(db) {
    std::lock_guard lock(db_.mu);
    at_ = db_.now;
    db_.snapshots.insert(at_);
  }
  ~Snapshot() {
    std::lock_guard lock(db_.mu);
    db_.end(at_);
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  uint64_t at() const { return at_; }

 private:
  Database& db_;
  uint64_t at_ = 0;
};

class MemTxn : public BufferedTxn {
 public:
  MemTxn(Database& db, uint64_t snapshot) : BufferedTxn(kMemRules), db_(db), at_(snapshot) {}

  void shared(Ino dir) override { reads_.shared.insert(dir); }
  void exclusive(Ino dir) override { reads_.exclusive.insert(dir); }

  // A record that is put as a whole was relied on as a whole, or the put could undo a change of the fields not looked at.
  const ReadSet& reliedOn() {
    for (auto& [key, fields] : reads_.fields) {
      auto* change = writes().find(key);
      if (change && !change->isVerbs()) fields = kFieldsAll;
    }
    return reads_;
  }

 protected:
  Result<std::optional<Value>> readRecord(const Key& key, uint32_t fields) override {
    reads_.fields[key] |= fields;
    std::lock_guard lock(db_.mu);
    auto* v = db_.find(key, at_);
    return v ? std::optional<Value>(*v) : std::nullopt;
  }

  Result<std::optional<LookupResult>> readEntry(Ino parent, std::string_view name, uint32_t fields) override {
    std::optional<LookupResult> out;
    TRY_ASSIGN(auto entry, readRecord(key::dentry(parent, name), kFieldsAll));
    auto* dentry = entry ? std::get_if<Dentry>(&*entry) : nullptr;
    if (!dentry) return out;
    out = LookupResult{*dentry, std::nullopt};
    TRY_ASSIGN(auto node, readRecord(key::node(dentry->ino), fields));
    if (auto* attr = node ? std::get_if<Attr>(&*node) : nullptr) out->attr = *attr;
    return out;
  }

  Status readRange(const Range& range, const Visit& visit) override {
    Seen seen{range.kind, range.id, range.after, range.after};
    size_t left = range.limit;
    bool more = true;
    while (more && left > 0) {
      auto page = readPage({range.kind, range.id, seen.upTo, std::nullopt}, std::min(left, kPage));
      more = page.size() == std::min(left, kPage);
      left -= page.size();
      for (auto& [key, value] : page) {
        seen.upTo = key;
        if (visit(key, value)) continue;
        reads_.ranges.push_back(std::move(seen));
        return {};
      }
    }
    if (!more) seen.upTo.reset();
    reads_.ranges.push_back(std::move(seen));
    return {};
  }

  Result<std::vector<DirEntry>> readDir(Ino dir, std::string_view afterName, size_t limit, bool plus) override {
    std::vector<DirEntry> out;
    Range range{Kind::dentry, dir, std::nullopt, limit};
    if (!afterName.empty()) range.after = key::dentry(dir, afterName);
    TRY(readRange(range, [&](const Key& key, const Value& value) {
      if (auto* dentry = std::get_if<Dentry>(&value)) out.push_back({key.name, *dentry, std::nullopt});
      return true;
    }));
    if (!plus) return out;
    for (auto& entry : out) {
      TRY_ASSIGN(auto node, readRecord(key::node(entry.dentry.ino), kFieldsAll));
      if (auto* attr = node ? std::get_if<Attr>(&*node) : nullptr) entry.attr = *attr;
    }
    return out;
  }

  Result<bool> readEmpty(Kind kind, uint64_t id) override {
    bool empty = true;
    TRY(readRange(Range{kind, id, std::nullopt, 1}, [&](const Key&, const Value&) { return empty = false; }));
    return empty;
  }

 private:
  std::vector<std::pair<Key, Value>> readPage(const Seen& range, size_t limit) {
    std::vector<std::pair<Key, Value>> out;
    std::lock_guard lock(db_.mu);
    for (auto it = db_.first(range); it != db_.records.end() && Database::within(it->first, range) && out.size() < limit; ++it)
      if (auto* v = db_.find(it->first, at_)) out.emplace_back(it->first, *v);
    return out;
  }

  Database& db_;
  const uint64_t at_;
  ReadSet reads_;
};

class MemStore : public MetaStore {
 public:
  MemStore(std::shared_ptr<Database> db, bool readOnly) : db_(std::move(db)), readOnly_(readOnly) {
    traits_.name = "mem";
    traits_.embedded = true;
  }

  const StoreTraits& traits() const override { return traits_; }

  Status run(const TxnBody& body, const TxnOptions& options) override {
    Snapshot snapshot(*db_);
    MemTxn txn(*db_, snapshot.at());
    TRY(runBody(body, txn));
    if (options.readOnly) return txn.writes().empty() ? Status() : Status(Code::invalid, "a read-only transaction wrote");
    if (readOnly_ && !txn.writes().empty()) return Status(Code::readOnly, "the metadata store is opened read-only");
    linger();
    return commit(txn, options.operation, snapshot.at());
  }

  Status prepareSchema(bool) override { return {}; }
  Result<bool> isEmpty() override {
    std::lock_guard lock(db_->mu);
    return std::none_of(db_->records.begin(), db_->records.end(), [](auto& r) { return r.second.back().value.has_value(); });
  }
  Status drop() override {
    Snapshot keepsTombstones(*db_);
    std::lock_guard lock(db_->mu);
    db_->dropAll();
    return {};
  }
  Status sync() override { return {}; }
  uint64_t changeCounter() override {
    std::lock_guard lock(db_->mu);
    return db_->now + 1;
  }
  Result<std::vector<std::pair<SliceId, uint32_t>>> unusedSlices(size_t limit) override {
    std::vector<std::pair<SliceId, uint32_t>> out;
    std::lock_guard lock(db_->mu);
    Seen all{Kind::sliceRef, std::nullopt, std::nullopt, std::nullopt};
    for (auto it = db_->first(all); it != db_->records.end() && Database::within(it->first, all) && out.size() < limit; ++it) {
      auto& value = it->second.back().value;
      auto* count = value ? std::get_if<int64_t>(&*value) : nullptr;
      if (count && *count <= 0) out.emplace_back(it->first.id, static_cast<uint32_t>(it->first.sub));
    }
    return out;
  }

 private:
  // Time for others to come in between.
  void linger() {
    std::chrono::microseconds wait{0};
    {
      std::lock_guard lock(db_->mu);
      if (auto most = db_->faults.delay.count(); most > 0)
        wait = std::chrono::microseconds(db_->dice() % static_cast<uint64_t>(most + 1));
    }
    if (wait.count() > 0) std::this_thread::sleep_for(wait);
  }

  Status commit(MemTxn& txn, std::string_view operation, uint64_t snapshot) {
    std::lock_guard lock(db_->mu);
    auto fault = txn.writes().empty() ? Code::ok : pickFault(operation);
    bool carryOut = fault == Code::ok || (fault == Code::maybeCommitted && db_->attempts % 2 == 0);
    if (!carryOut) return fault;
    auto& reads = txn.reliedOn();
    if (!db_->holds(reads, snapshot)) return Code::conflict;
    TRY(db_->apply(txn.writes(), reads));
    return fault;
  }

  Code pickFault(std::string_view operation) {
    auto& faults = db_->faults;
    ++db_->attempts;
    if (faults.decide)
      if (auto code = faults.decide(operation, db_->attempts); code != Code::ok) return code;
    auto hit = [&](double probability) {
      return probability > 0 && std::uniform_real_distribution<>(0, 1)(db_->dice) < probability;
    };
    if (hit(faults.conflict)) return Code::conflict;
    if (hit(faults.unavailable)) return Code::unavailable;
    if (hit(faults.maybeCommitted)) return Code::maybeCommitted;
    return Code::ok;
  }

  const std::shared_ptr<Database> db_;
  const bool readOnly_;
  StoreTraits traits_;
};

struct Registry {
  std::mutex mu;
  std::map<std::string, std::shared_ptr<Database>> databases;
};
Registry& registry() {
  static Registry r;
  return r;
}

std::shared_ptr<Database> database(const std::string& name) {
  std::lock_guard lock(registry().mu);
  auto& db = registry().databases[name];
  if (!db) db = std::make_shared<Database>();
  return db;
}

}  // namespace
}  // namespace mem

Result<std::unique_ptr<MetaStore>> openMemStore(const std::string& name, const StoreOptions& options) {
  return std::unique_ptr<MetaStore>(std::make_unique<mem::MemStore>(mem::database(name), options.readOnly));
}

void setMemFaults(const std::string& name, MemFaults faults) {
  auto db = mem::database(name);
  std::lock_guard lock(db->mu);
  db->dice.seed(faults.seed);
  db->faults = std::move(faults);
}

void forgetMemStore(const std::string& name) {
  std::lock_guard lock(mem::registry().mu);
  mem::registry().databases.erase(name);
}

}  // namespace aquifer::meta
