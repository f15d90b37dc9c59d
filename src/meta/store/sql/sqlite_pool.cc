#include "meta/store/sql/sqlite_pool.h"

#include <algorithm>

namespace aquifer::meta::sql {

namespace {

bool isComplete(const Layout& layout) {
  for (auto& table : sqliteTables("jfs_")) {
    if (!layout.hasTable(table.name)) return false;
    for (auto& added : table.columns)
      if (!layout.hasColumn(table.name, std::string(added.column))) return false;
  }
  return true;
}

// Connections that this thread has out, of all pools. A thread that holds one must not wait for another: all might do so.
thread_local int held = 0;

}  // namespace

SqlitePool::SqlitePool(SqliteOpen how, std::string tablePrefix, size_t limit)
    : how_(std::move(how)), prefix_(std::move(tablePrefix)), limit_(limit) {}

Result<std::unique_ptr<SqlitePool::Slot>> SqlitePool::open(int cacheKiB) {
  auto how = how_;
  how.cacheKiB = cacheKiB;
  auto slot = std::make_unique<Slot>();
  TRY_ASSIGN(slot->db, SqliteConnection::open(how));
  TRY(refresh(*slot));
  return slot;
}

void SqlitePool::adopt(Slot& slot, std::shared_ptr<const Statements> statements) {
  slot.mapping.reset();
  slot.db->dropStatements();
  slot.statements = std::move(statements);
  slot.mapping = std::make_unique<Mapping>(*slot.db, *slot.statements);
}

Status SqlitePool::refresh(Slot& slot) {
  {
    std::lock_guard lock(mu_);
    if (complete_) {
      if (slot.statements != statements_) adopt(slot, statements_);
      return {};
    }
  }
  return reload(slot);
}

Status SqlitePool::reload(Slot& slot) {
  TRY_ASSIGN(auto version, slot.db->queryInt("PRAGMA schema_version"));
  {
    std::lock_guard lock(mu_);
    if (version == schemaVersion_) {
      if (slot.statements != statements_) adopt(slot, statements_);
      return {};
    }
  }
  TRY_ASSIGN(auto layout, readLayout(*slot.db, prefix_));
  auto complete = isComplete(layout);
  auto statements = std::make_shared<const Statements>(prefix_, std::move(layout));
  {
    std::lock_guard lock(mu_);
    statements_ = statements;
    schemaVersion_ = version;
    complete_ = complete;
  }
  adopt(slot, std::move(statements));
  return {};
}

Result<SqlitePool::Lease> SqlitePool::take() {
  std::unique_ptr<Slot> slot;
  {
    std::unique_lock lock(mu_);
    returned_.wait(lock, [&] { return !idle_.empty() || out_ < limit_ || held > 0; });
    ++out_;
    ++held;
    if (!idle_.empty()) {
      // The one used last: its cache is warm.
      slot = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  Status status;
  if (slot) {
    status = refresh(*slot);
    if (status) return Lease(*this, std::move(slot));
  } else {
    auto fresh = open(how_.cacheKiB);
    if (fresh) return Lease(*this, std::move(*fresh));
    status = fresh.status();
  }
  std::lock_guard lock(mu_);
  --out_;
  --held;
  returned_.notify_one();
  return status;
}

void SqlitePool::giveBack(std::unique_ptr<Slot> slot) {
  std::lock_guard lock(mu_);
  --out_;
  --held;
  if (out_ + idle_.size() < limit_) idle_.push_back(std::move(slot));
  returned_.notify_one();
}

void SqlitePool::closeIdle() {
  std::vector<std::unique_ptr<Slot>> gone;
  std::lock_guard lock(mu_);
  gone.swap(idle_);
}

std::shared_ptr<const Statements> SqlitePool::statements() const {
  std::lock_guard lock(mu_);
  return statements_;
}

}  // namespace aquifer::meta::sql
