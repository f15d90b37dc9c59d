// Keeps a busy writer from starving other processes on the same database.
//
// A JuiceFS client begins its transactions by reading and asks for the write lock later; if anybody commits in between, it is
// refused at once and tries again after a random sleep, 50 times at most. Against commits that follow each other without a gap
// it would never get through. So, while others are active, commits pause now and then for long enough to complete such a
// transaction, and the pause grows while one is seen. One thread at a time.
#pragma once

#include <cstdint>

#include "meta/store/sql/sqlite_connection.h"

namespace aquifer::meta::sql {

class Courtesy {
 public:
  // Before a transaction takes the write lock; may sleep for some milliseconds.
  void beforeCommit(SqliteConnection& db);
  void afterCommit(SqliteConnection& db);

 private:
  bool othersActive(SqliteConnection& db, int64_t now);

  uint64_t left_ = 0;       // state of the database after our last commit
  int64_t lastCommit_ = 0;  // monotonic ns, as all below
  int64_t burstStart_ = 0;
  int64_t lastLook_ = 0;
  int64_t foreignCommit_ = 0, foreignReader_ = 0;  // when last seen
};

}  // namespace aquifer::meta::sql
