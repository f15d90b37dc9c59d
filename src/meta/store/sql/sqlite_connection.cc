#include "meta/store/sql/sqlite_connection.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "meta/store/sql/wal_vfs.h"

namespace aquifer::meta::sql {

namespace {

constexpr int kShmRegion = 32768;  // SQLite maps its shared index in pieces of this size

// Waits for other processes: short sleeps first, since their transactions are short, never longer than 10 ms, so that we do not
// miss the gaps that a busy writer leaves.
int onBusy(void* timeoutMs, int calls) {
  // The sum of all sleeps so far is close to this; exactness does not matter.
  int64_t waited = calls < 10 ? calls : 10 + int64_t{calls - 10} * 6;
  if (waited > static_cast<int64_t>(reinterpret_cast<intptr_t>(timeoutMs))) return 0;
  sleepMs(calls < 10 ? 1 : 2 + static_cast<int64_t>(randomBelow(9)));
  return 1;
}

Code codeOf(int rc) {
  switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return Code::ok;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return Code::unavailable;
    case SQLITE_CONSTRAINT: return Code::conflict;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return Code::corrupt;
    case SQLITE_FULL: return Code::noSpace;
    case SQLITE_READONLY: return Code::readOnly;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH: return Code::config;
    case SQLITE_NOMEM: return Code::noMemory;
    case SQLITE_TOOBIG: return Code::tooBig;
    // The snapshot of a statement was overtaken by a change of the tables: the next attempt prepares it anew.
    case SQLITE_SCHEMA: return Code::unavailable;
    default: return Code::io;
  }
}

// Nothing waits in a -wal, and nobody can make one.
bool mayBeImmutable(const std::string& path) {
  std::error_code ignored;
  auto parent = std::filesystem::path(path).parent_path();
  bool writable = ::access(parent.empty() ? "." : parent.c_str(), W_OK) == 0;
  auto wal = std::filesystem::file_size(path + "-wal", ignored);
  return !writable && (ignored || wal == 0);
}

std::string immutableUri(const std::string& path) {
  std::string uri = "file:";
  for (unsigned char c : path)
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02X}", c);
    else
      uri += static_cast<char>(c);
  return uri + "?immutable=1";
}

}  // namespace

class SqliteConnection::Prepared : public Statement {
 public:
  Prepared(SqliteConnection& db, sqlite3_stmt* stmt) : db_(db), stmt_(stmt) {}
  ~Prepared() override { sqlite3_finalize(stmt_); }
  void bind(int64_t v) override { sqlite3_bind_int64(stmt_, ++bound_, v); }
  void bindText(std::string_view v) override {
    sqlite3_bind_text64(stmt_, ++bound_, v.data() ? v.data() : "", v.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bindBlob(std::string_view v) override {
    // A null pointer would bind NULL, not an empty blob.
    sqlite3_bind_blob64(stmt_, ++bound_, v.data() ? v.data() : "", v.size(), SQLITE_STATIC);
  }
  Result<bool> step() override {
    int rc = sqlite3_step(stmt_);
    if (rc == SQLITE_ROW) return true;
    if (rc == SQLITE_DONE) return false;
    auto status = db_.error(rc);
    sqlite3_reset(stmt_);
    return status;
  }
  int64_t integer(int column) override { return sqlite3_column_int64(stmt_, column); }
  std::string_view bytes(int column) override {
    auto* data = static_cast<const char*>(sqlite3_column_blob(stmt_, column));
    return {data ? data : "", data ? static_cast<size_t>(sqlite3_column_bytes(stmt_, column)) : 0};
  }
  void reset() override {
    sqlite3_reset(stmt_);
    bound_ = 0;
  }

 private:
  SqliteConnection& db_;
  sqlite3_stmt* stmt_;
  int bound_ = 0;
};

SqliteConnection::SqliteConnection(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}

SqliteConnection::~SqliteConnection() {
  dropStatements();
  for (auto& statement : controls_) statement.reset();
  sqlite3_close_v2(db_);
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const SqliteOpen& how) {
  if (!how.create && ::access(how.path.c_str(), F_OK) != 0)
    return Status(Code::notFormatted, fmt::format("database is not formatted: there is no file {}", how.path));
  // A file that we may write is opened for writing even for a read-only store (which then says query_only): such a connection
  // removes its -wal and -shm when it leaves, a read-only one would leave them behind.
  bool write = !how.readOnly || ::access(how.path.c_str(), W_OK) == 0;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
  flags |= write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (how.create && write) flags |= SQLITE_OPEN_CREATE;
  auto opened = openAs(how, how.path, flags);
  if (opened || !how.readOnly || !mayBeImmutable(how.path)) return opened;
  // On a file system that nobody here can write there is no place for the -shm, and no one to share it with.
  LOG_WARN("{}: opened without locks, since its directory is not writable", how.path);
  return openAs(how, immutableUri(how.path),
                SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE);
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::openAs(const SqliteOpen& how, const std::string& name, int flags) {
  sqlite3* raw = nullptr;
  int rc = sqlite3_open_v2(name.c_str(), &raw, flags, walGatheringVfs());
  if (!raw) return Code::noMemory;
  auto out = std::unique_ptr<SqliteConnection>(new SqliteConnection(raw, how.path));
  if (rc != SQLITE_OK) return out->error(rc);
  sqlite3_busy_handler(raw, onBusy, reinterpret_cast<void*>(static_cast<intptr_t>(how.busyTimeoutMs)));
  // Distributions build SQLite with secure_delete, which writes zeros over everything that is removed.
  TRY(out->exec(fmt::format("PRAGMA cache_size=-{}; PRAGMA temp_store=MEMORY; PRAGMA secure_delete=OFF", how.cacheKiB)));
  if (how.readOnly) TRY(out->exec("PRAGMA query_only=1"));
  // The first read of the file; says whether it is a database at all.
  TRY(out->queryInt("SELECT count(*) FROM sqlite_master"));
  return out;
}

Status SqliteConnection::error(int rc) const {
  auto code = codeOf(rc);
  if (code == Code::ok) return {};
  return Status(code, fmt::format("{}: {} (sqlite {})", path_, sqlite3_errmsg(db_), rc));
}

Result<std::unique_ptr<SqliteConnection::Prepared>> SqliteConnection::prepare(const std::string& text) {
  sqlite3_stmt* stmt = nullptr;
  int rc = sqlite3_prepare_v3(db_, text.data(), static_cast<int>(text.size()), SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
  if (rc != SQLITE_OK) return error(rc).annotate(text);
  if (!stmt) return Status(Code::invalid, "empty statement");
  return std::make_unique<Prepared>(*this, stmt);
}

Result<Statement*> SqliteConnection::acquire(int id, const std::string& text) {
  auto index = static_cast<size_t>(id);
  if (index >= idle_.size()) idle_.resize(index + 1);
  auto& idle = idle_[index];
  if (idle.empty()) {
    TRY_ASSIGN(auto fresh, prepare(text));
    busy_.push_back(std::move(fresh));
  } else {
    busy_.push_back(std::move(idle.back()));
    idle.pop_back();
  }
  return static_cast<Statement*>(busy_.back().get());
}

void SqliteConnection::release(int id, Statement* statement) {
  statement->reset();
  auto it = std::find_if(busy_.rbegin(), busy_.rend(), [&](auto& p) { return p.get() == statement; });
  if (it == busy_.rend()) return;
  auto index = static_cast<size_t>(id);
  // After dropStatements a statement that was out is of the old layout.
  if (index < idle_.size()) idle_[index].push_back(std::move(*it));
  busy_.erase(std::next(it).base());
}

int64_t SqliteConnection::changedRows() { return sqlite3_changes64(db_); }

Status SqliteConnection::control(Control what) {
  static const std::string kTexts[] = {"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"};
  auto& statement = controls_[static_cast<size_t>(what)];
  if (!statement) {
    TRY_ASSIGN(statement, prepare(kTexts[static_cast<size_t>(what)]));
  }
  auto done = statement->step();
  statement->reset();
  return done.status();
}

Status SqliteConnection::exec(const std::string& text) {
  int rc = sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr);
  return rc == SQLITE_OK ? Status() : error(rc);
}

Result<int64_t> SqliteConnection::queryInt(const std::string& text) {
  TRY_ASSIGN(auto q, prepare(text));
  TRY_ASSIGN(bool row, q->step());
  return row ? q->integer(0) : 0;
}

Result<std::string> SqliteConnection::queryText(const std::string& text) {
  TRY_ASSIGN(auto rows, queryTexts(text));
  return rows.empty() ? std::string() : std::move(rows.front());
}

Result<std::vector<std::string>> SqliteConnection::queryTexts(const std::string& text) {
  TRY_ASSIGN(auto q, prepare(text));
  std::vector<std::string> out;
  for (;;) {
    TRY_ASSIGN(bool row, q->step());
    if (!row) return out;
    out.emplace_back(q->bytes(0));
  }
}

void SqliteConnection::dropStatements() { idle_.clear(); }

const volatile char* SqliteConnection::walIndex() {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file || !file->pMethods) return nullptr;
  if (file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) return nullptr;
  void volatile* region = nullptr;
  if (file->pMethods->xShmMap(file, 0, kShmRegion, 0, &region) != SQLITE_OK) return nullptr;
  return static_cast<const volatile char*>(region);
}

uint64_t SqliteConnection::walChange() {
  auto* region = walIndex();
  if (!region) return 0;
  // The header of the index (SQLite's file format, section "WAL-index"): a counter of changes, the number of frames, and the
  // checksum of the last frame, which differs even where the counter starts again.
  auto word = [&](size_t offset) {
    return __atomic_load_n(reinterpret_cast<const volatile uint32_t*>(region + offset), __ATOMIC_ACQUIRE);
  };
  uint64_t change = word(8), frames = word(16), checksum = word(24);
  return (change << 32 ^ frames << 20 ^ checksum) | uint64_t{1} << 63;
}

bool SqliteConnection::hasExternalReader() {
  int found = 0;
  return sqlite3_file_control(db_, "main", SQLITE_FCNTL_EXTERNAL_READER, &found) == SQLITE_OK && found != 0;
}

bool SqliteConnection::inTransaction() const { return sqlite3_get_autocommit(db_) == 0; }

Result<Layout> readLayout(SqliteConnection& db, const std::string& prefix) {
  Layout layout;
  TRY_ASSIGN(auto tables, db.queryTexts("SELECT name FROM sqlite_master WHERE type='table'"));
  for (auto& table : tables) {
    if (table.compare(0, prefix.size(), prefix) != 0) continue;
    TRY_ASSIGN(auto columns, db.queryTexts(fmt::format("SELECT name FROM pragma_table_info('{}')", table)));
    layout.tables[table.substr(prefix.size())] = {columns.begin(), columns.end()};
  }
  return layout;
}

}  // namespace aquifer::meta::sql
