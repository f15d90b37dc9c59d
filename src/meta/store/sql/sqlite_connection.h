// One SQLite connection: opening, prepared statements kept by id, errors as Status. One thread at a time.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "meta/store/sql/connection.h"
#include "meta/store/sql/schema.h"

struct sqlite3;

namespace aquifer::meta::sql {

struct SqliteOpen {
  std::string path;
  bool readOnly = false;
  bool create = false;
  int busyTimeoutMs = 5000;
  int cacheKiB = 8192;
};

class SqliteConnection : public Connection {
 public:
  // Code::notFormatted if there is no file and `create` is not set; Code::config if it cannot be opened; Code::corrupt if it
  // is no database.
  static Result<std::unique_ptr<SqliteConnection>> open(const SqliteOpen& how);
  ~SqliteConnection() override;

  Result<Statement*> acquire(int id, const std::string& text) override;
  void release(int id, Statement* statement) override;
  int64_t changedRows() override;

  enum class Control : int { begin, beginImmediate, commit, rollback };
  Status control(Control what);
  // For text that is not worth keeping prepared.
  Status exec(const std::string& text);
  Result<int64_t> queryInt(const std::string& text);
  Result<std::string> queryText(const std::string& text);
  Result<std::vector<std::string>> queryTexts(const std::string& text);  // first column of each row
  // Forget prepared statements, after the layout has changed.
  void dropStatements();
  bool inTransaction() const;
  // A number that differs after every commit of any connection, read from the shared index of the -wal without a system call;
  // 0 if the database is not in WAL mode.
  uint64_t walChange();
  // The first page of that shared index, valid while this connection is open; nullptr if the database is not in WAL mode.
  const volatile char* walIndex();
  // Does another process have a transaction open at this moment?
  bool hasExternalReader();
  sqlite3* handle() { return db_; }
  const std::string& path() const { return path_; }
  // A result code of SQLite as a Status that names the database.
  Status error(int rc) const;

 private:
  class Prepared;
  SqliteConnection(sqlite3* db, std::string path);
  static Result<std::unique_ptr<SqliteConnection>> openAs(const SqliteOpen& how, const std::string& name, int flags);
  Result<std::unique_ptr<Prepared>> prepare(const std::string& text);

  sqlite3* db_;
  std::string path_;
  std::vector<std::vector<std::unique_ptr<Prepared>>> idle_;  // by statement id
  std::vector<std::unique_ptr<Prepared>> busy_;               // checked out; few at a time
  std::array<std::unique_ptr<Prepared>, 4> controls_;
};

// The tables below `prefix` and their columns.
Result<Layout> readLayout(SqliteConnection& db, const std::string& prefix);

}  // namespace aquifer::meta::sql
