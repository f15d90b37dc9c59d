#include "meta/store/sql/sqlite_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "base/log.h"
#include "meta/store/sql/checkpointer.h"
#include "meta/store/sql/commit_queue.h"
#include "meta/store/sql/courtesy.h"
#include "meta/store/sql/sql_txn.h"
#include "meta/store/sql/sqlite_pool.h"
#include "meta/store/sql/sqlite_url.h"
#include "meta/store/sql/wal_watch.h"

namespace aquifer::meta {

namespace sql {
namespace {

constexpr int kWriterCacheKiB = 32768, kReaderCacheKiB = 8192, kSmallestCacheKiB = 512;
constexpr size_t kReaders = 8;

// The page caches of all connections together keep within `bytes`: a third for the writer, the rest for the readers.
int writerCacheKiB(uint64_t bytes) {
  return bytes ? static_cast<int>(std::clamp<uint64_t>(bytes / 3 / 1024, kSmallestCacheKiB, kWriterCacheKiB)) : kWriterCacheKiB;
}
int readerCacheKiB(uint64_t bytes) {
  return bytes ? static_cast<int>(std::clamp<uint64_t>(bytes / 3 * 2 / kReaders / 1024, kSmallestCacheKiB, kReaderCacheKiB)) : kReaderCacheKiB;
}
constexpr size_t kMaxGroup = 64;
// A group ends early when its bodies took this long, so that a slow one delays the others by no more than its own time.
constexpr int64_t kMaxGroupNanos = 10'000'000;

using Control = SqliteConnection::Control;

class SqliteStore : public MetaStore {
 public:
  static Result<std::unique_ptr<MetaStore>> open(const SqliteAddress& address, const StoreOptions& options);
  SqliteStore(SqliteAddress address, const SqliteOpen& how, const StoreOptions& options);
  ~SqliteStore() override;

  const StoreTraits& traits() const override { return traits_; }
  Status run(const TxnBody& body, const TxnOptions& options) override;
  Status prepareSchema(bool formatting) override;
  Result<bool> isEmpty() override;
  Status drop() override;
  Status sync() override;
  uint64_t changeCounter() override;
  Result<std::unique_ptr<ChangeFeed>> watch(ChangeSink& sink) override { return watch_.start(sink); }
  Result<std::vector<std::pair<SliceId, uint32_t>>> unusedSlices(size_t limit) override;

 private:
  Status start();
  Status read(const TxnBody& body);
  size_t executeGroup(std::vector<CommitQueue::Member*>& batch);
  // Runs the members' bodies and applies their writes inside the open database transaction.
  Status runMembers(std::vector<CommitQueue::Member*>& batch, size_t* decided);
  Status finishGroup(std::vector<CommitQueue::Member*>& batch, size_t decided, WalWatch::Own& own);
  void runAlone(CommitQueue::Member& member);
  Status rollback(Status why);
  // After an error of the engine: perhaps the tables have changed under us, then the next attempt will work.
  Status explain(SqlitePool::Slot& slot, Status why);
  Status withWriter(const std::function<Status(SqlitePool::Slot&)>& work);
  Status createMissing(SqlitePool::Slot& slot);

  const SqliteAddress address_;
  const StoreOptions options_;
  StoreTraits traits_;
  SqlitePool pool_;
  std::unique_ptr<SqlitePool::Slot> writer_, watcher_;
  std::mutex watcherMu_;
  GroupVerbs group_;
  Courtesy courtesy_;
  CommitQueue queue_;
  ReaderGate readers_;
  Checkpointer checkpointer_;
  WalWatch watch_;
  std::vector<Key> told_;   // of the group under way: nodes and names that its callers do not know to have changed
  std::atomic<bool> directorySynced_{false};
};

SqliteStore::SqliteStore(SqliteAddress address, const SqliteOpen& how, const StoreOptions& options)
    : address_(std::move(address)),
      options_(options),
      pool_(how, address_.tablePrefix, kReaders),
      queue_([this](auto& batch) { return executeGroup(batch); }, kMaxGroup),
      checkpointer_(how, [this](auto& work) { queue_.alone(work); }, readers_),
      watch_(how) {
  traits_.name = "sqlite3";
  traits_.parentsFromDentries = true;
  traits_.embedded = true;
}

SqliteStore::~SqliteStore() {
  pool_.closeIdle();
  watcher_.reset();
  writer_.reset();
}

Result<std::unique_ptr<MetaStore>> SqliteStore::open(const SqliteAddress& address, const StoreOptions& options) {
  SqliteOpen how{address.path, options.readOnly, options.create && !options.readOnly, address.timeoutMs, readerCacheKiB(options.cacheBytes)};
  auto store = std::make_unique<SqliteStore>(address, how, options);
  TRY(store->start());
  return std::unique_ptr<MetaStore>(std::move(store));
}

Status SqliteStore::start() {
  TRY_ASSIGN(writer_, pool_.open(writerCacheKiB(options_.cacheBytes)));
  if (options_.readOnly) return {};
  TRY_ASSIGN(auto journal, writer_->db->queryText("PRAGMA journal_mode"));
  if (address_.journal == "WAL" && journal != "wal") {
    TRY_ASSIGN(journal, writer_->db->queryText("PRAGMA journal_mode=WAL"));
    if (journal != "wal") LOG_WARN("{}: journal mode stays {}", address_.path, journal);
  }
  checkpointer_.watch(*writer_->db);
  return writer_->db->exec(
      fmt::format("PRAGMA synchronous={}; PRAGMA journal_size_limit=67108864", journal == "wal" ? "NORMAL" : "FULL"));
}

Status SqliteStore::run(const TxnBody& body, const TxnOptions& options) {
  if (options.readOnly) return read(body);
  if (options_.readOnly) return Status(Code::readOnly, "the metadata store is opened read-only");
  return queue_.run(body, options);
}

Status SqliteStore::read(const TxnBody& body) {
  ReaderGate::Pass pass(readers_);
  TRY_ASSIGN(auto slot, pool_.take());
  TRY(slot->db->control(Control::begin));
  GroupVerbs none;
  SqlTxn txn(*slot->mapping, none);
  auto status = runBody(body, txn);
  if (auto end = slot->db->control(Control::commit); !end && status) status = end;
  if (slot->db->inTransaction()) static_cast<void>(slot->db->control(Control::rollback));
  if (!txn.writes().empty()) return Status(Code::invalid, "a read-only transaction wrote");
  return explain(*slot, std::move(status));
}

Status SqliteStore::explain(SqlitePool::Slot& slot, Status why) {
  if (!why.is(Code::io)) return why;
  auto before = pool_.statements();
  if (pool_.reload(slot) && pool_.statements() != before) return Status(Code::unavailable, why.text());
  return why;
}

size_t SqliteStore::executeGroup(std::vector<CommitQueue::Member*>& batch) {
  auto failAll = [&](const Status& why) {
    for (auto* member : batch) member->status = why;
    return batch.size();
  };
  if (auto s = pool_.refresh(*writer_); !s) return failAll(s);
  courtesy_.beforeCommit(*writer_->db);
  if (auto s = writer_->db->control(Control::beginImmediate); !s) return failAll(s);
  std::optional<WalWatch::Own> own(watch_);
  size_t decided = 0;
  auto status = runMembers(batch, &decided);
  if (status) {
    status = finishGroup(batch, decided, *own);
    if (status) return decided;
    // Nothing is committed; what a body found wrong may have come from a neighbour whose writes are gone now.
    for (size_t i = 0; i < decided; ++i) batch[i]->status = batch[i]->status ? status : Status(Code::conflict);
    return decided;
  }
  status = rollback(std::move(status));
  own.reset();
  if (batch.size() == 1) {
    batch[0]->status = explain(*writer_, std::move(status));
    return 1;
  }
  // One member's writes were refused: let each stand for itself.
  for (auto* member : batch) runAlone(*member);
  return batch.size();
}

Status SqliteStore::runMembers(std::vector<CommitQueue::Member*>& batch, size_t* decided) {
  auto started = monotonicNanos();
  group_.clear();
  told_.clear();
  for (auto* member : batch) {
    SqlTxn txn(*writer_->mapping, group_);
    member->status = runBody(member->body, txn);
    if (member->status) {
      TRY(txn.apply());
      if (!member->callerKnows)
        for (auto& [key, change] : txn.writes().changes())
          if (key.kind == Kind::node || key.kind == Kind::dentry) told_.push_back(key);
    }
    ++*decided;
    if (monotonicNanos() - started > kMaxGroupNanos) break;
  }
  return group_.flush(*writer_->mapping);
}

Status SqliteStore::finishGroup(std::vector<CommitQueue::Member*>& batch, size_t decided, WalWatch::Own& own) {
  const auto commits = checkpointer_.commits();
  if (auto s = writer_->db->control(Control::commit); !s) return rollback(std::move(s));
  own.committed(checkpointer_.commits() != commits, told_);
  courtesy_.afterCommit(*writer_->db);
  bool powerSafe = options_.powerSafeCommits;
  for (size_t i = 0; i < decided; ++i) powerSafe |= batch[i]->options.powerSafe;
  if (!powerSafe) return {};
  if (auto s = sync(); !s)
    for (size_t i = 0; i < decided; ++i)
      if (batch[i]->status && (options_.powerSafeCommits || batch[i]->options.powerSafe)) batch[i]->status = s;
  return {};
}

void SqliteStore::runAlone(CommitQueue::Member& member) {
  std::vector<CommitQueue::Member*> one{&member};
  executeGroup(one);
}

Status SqliteStore::rollback(Status why) {
  group_.clear();
  // SQLite has rolled back by itself after some errors.
  if (writer_->db->inTransaction())
    if (auto s = writer_->db->control(Control::rollback); !s) LOG_WARN("rollback: {}", s.text());
  return why;
}

Status SqliteStore::withWriter(const std::function<Status(SqlitePool::Slot&)>& work) {
  if (options_.readOnly) return Status(Code::readOnly, "the metadata store is opened read-only");
  Status status;
  bool ran = queue_.alone([&] {
    status = writer_->db->control(Control::beginImmediate);
    if (!status) return;
    status = work(*writer_);
    if (status) status = writer_->db->control(Control::commit);
    if (!status) status = rollback(std::move(status));
    if (auto s = pool_.reload(*writer_); !s && status) status = s;
  });
  return ran ? status : Status(Code::deadlock, "the schema cannot be changed inside a transaction");
}

Status SqliteStore::createMissing(SqlitePool::Slot& slot) {
  TRY_ASSIGN(auto layout, readLayout(*slot.db, address_.tablePrefix));
  for (auto& table : sqliteTables(address_.tablePrefix)) {
    if (!layout.hasTable(table.name)) {
      TRY(slot.db->exec(table.create));
    } else {
      for (auto& added : table.columns)
        if (!layout.hasColumn(table.name, std::string(added.column)))
          TRY(slot.db->exec(fmt::format("ALTER TABLE `{}{}` ADD COLUMN `{}` {}", address_.tablePrefix, table.name, added.column,
                                        added.definition)));
    }
    for (auto& index : table.indexes) TRY(slot.db->exec(index));
  }
  return {};
}

Status SqliteStore::prepareSchema(bool formatting) {
  return withWriter([&](SqlitePool::Slot& slot) -> Status {
    TRY(pool_.reload(slot));
    if (!formatting && !slot.statements->has(Kind::setting)) return Status(Code::notFormatted, "database is not formatted");
    return createMissing(slot);
  });
}

Result<bool> SqliteStore::isEmpty() {
  TRY_ASSIGN(auto slot, pool_.take());
  TRY_ASSIGN(auto tables, slot->db->queryInt(
                              "SELECT count(*) FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"));
  return tables == 0;
}

Status SqliteStore::drop() {
  return withWriter([&](SqlitePool::Slot& slot) -> Status {
    TRY_ASSIGN(auto layout, readLayout(*slot.db, address_.tablePrefix));
    for (auto& [table, columns] : layout.tables)
      TRY(slot.db->exec(fmt::format("DROP TABLE `{}{}`", address_.tablePrefix, table)));
    return {};
  });
}

Status SqliteStore::sync() {
  // Only the -wal is opened here: closing any descriptor of the main file would drop this process's locks on it.
  auto syncPath = [&](const std::string& path, int flags) -> Status {
    int fd = ::open(path.c_str(), flags | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? Status() : Status(Code::io, fmt::format("open {}: errno {}", path, errno));
    int rc = ::fsync(fd);
    int error = errno;
    ::close(fd);
    return rc == 0 ? Status() : Status(Code::io, fmt::format("fsync {}: errno {}", path, error));
  };
  TRY(syncPath(address_.path + "-wal", O_RDONLY));
  if (directorySynced_.exchange(true)) return {};
  auto slash = address_.path.rfind('/');
  auto parent = slash == std::string::npos ? std::string(".") : slash == 0 ? std::string("/") : address_.path.substr(0, slash);
  return syncPath(parent, O_RDONLY | O_DIRECTORY);
}

uint64_t SqliteStore::changeCounter() {
  std::lock_guard lock(watcherMu_);
  if (!watcher_) {
    auto slot = pool_.open(256);
    if (!slot) return 0;
    watcher_ = std::move(*slot);
  }
  if (auto change = watcher_->db->walChange(); change != 0) return change;
  auto version = watcher_->db->queryInt("PRAGMA data_version");
  return version ? static_cast<uint64_t>(*version) : 0;
}

Result<std::vector<std::pair<SliceId, uint32_t>>> SqliteStore::unusedSlices(size_t limit) {
  TRY_ASSIGN(auto slot, pool_.take());
  return slot->mapping->unusedSlices(limit);
}

}  // namespace
}  // namespace sql

Result<std::unique_ptr<MetaStore>> openSqliteStore(const std::string& rest, const StoreOptions& options) {
  TRY_ASSIGN(auto address, sql::parseSqliteAddress(rest));
  return sql::SqliteStore::open(address, options);
}

}  // namespace aquifer::meta
