// Connections to one file with the statements of its present layout. Thread-safe; a Slot belongs to one thread at a time.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "meta/store/sql/mapping.h"
#include "meta/store/sql/sqlite_connection.h"

namespace aquifer::meta::sql {

class SqlitePool {
 public:
  struct Slot {
    std::unique_ptr<SqliteConnection> db;
    std::shared_ptr<const Statements> statements;
    std::unique_ptr<Mapping> mapping;
  };

  SqlitePool(SqliteOpen how, std::string tablePrefix, size_t limit);

  // A connection with up-to-date statements, outside the pool's count.
  Result<std::unique_ptr<Slot>> open(int cacheKiB);
  // Brings a slot to the present layout; cheap when nothing has changed.
  Status refresh(Slot& slot);
  // Reads the tables again, if they are not those we know (another process may make or change them).
  Status reload(Slot& slot);

  class Lease {
   public:
    Lease(SqlitePool& pool, std::unique_ptr<Slot> slot) : pool_(&pool), slot_(std::move(slot)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (slot_) pool_->giveBack(std::move(slot_));
    }
    Slot* operator->() { return slot_.get(); }
    Slot& operator*() { return *slot_; }

   private:
    SqlitePool* pool_;
    std::unique_ptr<Slot> slot_;
  };
  // Waits while `limit` connections are in use, unless this thread has one already. Give it back on the same thread.
  Result<Lease> take();
  void closeIdle();
  std::shared_ptr<const Statements> statements() const;

 private:
  void giveBack(std::unique_ptr<Slot> slot);
  void adopt(Slot& slot, std::shared_ptr<const Statements> statements);

  const SqliteOpen how_;
  const std::string prefix_;
  const size_t limit_;
  mutable std::mutex mu_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Slot>> idle_;
  size_t out_ = 0;
  std::shared_ptr<const Statements> statements_;
  int64_t schemaVersion_ = -1;
  bool complete_ = false;  // nothing is missing in the layout, so that nobody has a reason to add to it
};

}  // namespace aquifer::meta::sql
