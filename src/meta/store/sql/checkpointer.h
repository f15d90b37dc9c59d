// Moves what has gathered in the -wal into the database, on a thread of its own, so that no commit has to wait for it.
// Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "meta/store/sql/reader_gate.h"
#include "meta/store/sql/sqlite_connection.h"

namespace aquifer::meta::sql {

class Checkpointer {
 public:
  // `alone` runs a function while no commit is under way; `readers` are those of this process.
  Checkpointer(SqliteOpen how, std::function<void(const std::function<void()>&)> alone, ReaderGate& readers);
  ~Checkpointer();
  // Hears of every commit of this connection from now on.
  void watch(SqliteConnection& writer);
  // How many it has heard of.
  uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }

 private:
  void grownTo(int frames);
  void loop();
  void checkpoint();
  void pass(int mode, int* inLog, int* moved);

  const SqliteOpen how_;
  const std::function<void(const std::function<void()>&)> alone_;
  ReaderGate& readers_;
  std::unique_ptr<SqliteConnection> db_;
  std::atomic<uint64_t> commits_{0};
  std::atomic<int> wanted_;  // frames from which on there is work
  std::mutex mu_;
  std::condition_variable wake_;
  int frames_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace aquifer::meta::sql
