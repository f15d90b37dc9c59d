// Tells of commits to one database file by other connections, of this process or another on this host: the header of the -wal's
// shared index changes with every commit, and inotify on the -wal says when it is worth a look. Thread-safe.
//
// SQLite does not say what a commit has changed, so a foreign one is told as "anything". An own one is recognised while the write
// lock is held: nobody else can commit between begin() and the commit, and afterwards the index counts exactly one change more.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "meta/store/change_feed.h"
#include "meta/store/sql/sqlite_connection.h"

namespace aquifer::meta::sql {

// The header of the shared index (SQLite's file format, section "WAL-index").
struct WalHeader {
  std::array<uint32_t, 12> words{};
  uint32_t changes() const { return words[2]; }
  bool operator==(const WalHeader&) const = default;
};
// nullopt while somebody is writing it.
std::optional<WalHeader> readWalHeader(const volatile char* index);

class WalWatch {
 public:
  explicit WalWatch(SqliteOpen how) : how_(std::move(how)) {}
  ~WalWatch() { stop(); }

  // Code::unsupported if the database is not in WAL mode; unavailable if there is no inotify to be had; busy if somebody listens.
  Result<std::unique_ptr<ChangeFeed>> start(ChangeSink& sink);

  // Around one commit of ours, from when the write lock is held. Foreign commits of before are told first.
  class Own {
   public:
    explicit Own(WalWatch& watch);
    // Right after the commit. `wrote`: SQLite says that it has written something. `keys`: what to tell of it.
    void committed(bool wrote, std::span<const Key> keys);

   private:
    WalWatch& watch_;
    std::unique_lock<std::mutex> lock_;
  };

 private:
  class Feed;
  Status open();
  void close();
  void stop();
  void loop();
  bool drain();       // true: somebody has written
  void lookLocked();  // tells what is new
  void reopen();

  const SqliteOpen how_;
  std::mutex mu_;     // of what is below; held while the sink is called, and by Own
  ChangeSink* sink_ = nullptr;
  std::unique_ptr<SqliteConnection> db_;
  const volatile char* index_ = nullptr;  // nullptr: nothing is told at the moment
  std::optional<WalHeader> known_;
  int inotify_ = -1, stopFd_ = -1;
  bool gone_ = false;                     // the -wal is not the one that is watched; the thread's own
  std::thread thread_;
};

}  // namespace aquifer::meta::sql
