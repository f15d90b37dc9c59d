#include "meta/store/sql/wal_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <new>
#include <string>

#include "base/bytes.h"

namespace aquifer::meta::sql {

namespace {

constexpr size_t kMaxGathered = 1 << 20;
// The system layer takes the low 17 bits of a length for the length of a write.
constexpr size_t kMaxWrite = 0x1f000;
// A frame of the -wal is a header and a page. The header's second number is the size of the database after the commit in its
// last frame, 0 in all others (SQLite's file format, section 4.1).
constexpr int kFrameHeader = 24;
constexpr size_t kCommitSizeAt = 4;

// The file that SQLite sees; the system's file object lies behind it in the same allocation.
struct WalFile {
  sqlite3_file base;
  std::string* gathered;
  sqlite3_int64 at;  // where the gathered bytes belong
  bool lastFrame;    // the frame header written last says "commit"
};

sqlite3_vfs* systemVfs = nullptr;
sqlite3_vfs layer;

size_t realOffset() { return (sizeof(WalFile) + 15) / 16 * 16; }
WalFile* self(sqlite3_file* f) { return reinterpret_cast<WalFile*>(f); }
sqlite3_file* real(sqlite3_file* f) { return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(f) + realOffset()); }

int flush(sqlite3_file* f) {
  auto* w = self(f);
  if (w->gathered->empty()) return SQLITE_OK;
  int rc = SQLITE_OK;
  for (size_t done = 0; done < w->gathered->size() && rc == SQLITE_OK; done += kMaxWrite) {
    auto n = std::min(kMaxWrite, w->gathered->size() - done);
    rc = real(f)->pMethods->xWrite(real(f), w->gathered->data() + done, static_cast<int>(n),
                                   w->at + static_cast<sqlite3_int64>(done));
  }
  // After an error the transaction is rolled back; its frames must not come out later.
  w->gathered->clear();
  return rc;
}

int walClose(sqlite3_file* f) {
  int flushed = flush(f);
  int closed = real(f)->pMethods->xClose(real(f));
  delete self(f)->gathered;
  self(f)->gathered = nullptr;
  return flushed != SQLITE_OK ? flushed : closed;
}

int walRead(sqlite3_file* f, void* out, int n, sqlite3_int64 at) {
  if (int rc = flush(f); rc != SQLITE_OK) return rc;
  return real(f)->pMethods->xRead(real(f), out, n, at);
}

int walWrite(sqlite3_file* f, const void* data, int n, sqlite3_int64 at) {
  auto* w = self(f);
  bool follows = !w->gathered->empty() && at == w->at + static_cast<sqlite3_int64>(w->gathered->size());
  if (!follows || w->gathered->size() + static_cast<size_t>(n) > kMaxGathered) {
    if (int rc = flush(f); rc != SQLITE_OK) return rc;
    w->at = at;
  }
  w->gathered->append(static_cast<const char*>(data), static_cast<size_t>(n));
  if (n == kFrameHeader) {
    w->lastFrame = loadBig<uint32_t>(static_cast<const char*>(data) + kCommitSizeAt) != 0;
    return SQLITE_OK;
  }
  return w->lastFrame ? flush(f) : SQLITE_OK;
}

int walTruncate(sqlite3_file* f, sqlite3_int64 size) {
  if (int rc = flush(f); rc != SQLITE_OK) return rc;
  return real(f)->pMethods->xTruncate(real(f), size);
}

int walSync(sqlite3_file* f, int flags) {
  if (int rc = flush(f); rc != SQLITE_OK) return rc;
  return real(f)->pMethods->xSync(real(f), flags);
}

int walFileSize(sqlite3_file* f, sqlite3_int64* size) {
  if (int rc = flush(f); rc != SQLITE_OK) return rc;
  return real(f)->pMethods->xFileSize(real(f), size);
}

int walLock(sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); }
int walUnlock(sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); }
int walReserved(sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); }
int walControl(sqlite3_file* f, int op, void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); }
int walSectorSize(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
int walCharacteristics(sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); }

// Version 1: shared memory and mapping belong to the database file, which stays the system's own.
const sqlite3_io_methods kWalMethods = {
    1,         walClose,    walRead,    walWrite,      walTruncate,        walSync, walFileSize, walLock,
    walUnlock, walReserved, walControl, walSectorSize, walCharacteristics, nullptr, nullptr,     nullptr,
    nullptr,   nullptr,     nullptr};

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* outFlags) {
  if (!(flags & SQLITE_OPEN_WAL)) return systemVfs->xOpen(systemVfs, name, f, flags, outFlags);
  auto* w = self(f);
  w->base.pMethods = nullptr;
  int rc = systemVfs->xOpen(systemVfs, name, real(f), flags, outFlags);
  // Where the system's open has failed but left methods, SQLite expects them to be closed.
  if (rc != SQLITE_OK) {
    if (real(f)->pMethods) real(f)->pMethods->xClose(real(f));
    return rc;
  }
  w->gathered = new (std::nothrow) std::string;
  if (!w->gathered) {
    real(f)->pMethods->xClose(real(f));
    return SQLITE_NOMEM;
  }
  w->at = 0;
  w->lastFrame = false;
  w->base.pMethods = &kWalMethods;
  return SQLITE_OK;
}

const char* registerLayer() {
  // Counting allocations takes a lock that all connections share. Refused, without harm, if SQLite is in use already.
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  if (sqlite3_initialize() != SQLITE_OK) return nullptr;
  systemVfs = sqlite3_vfs_find(nullptr);
  if (!systemVfs) return nullptr;
  // Everything but opening a file is the system's: its functions ask for their own object only through the file or not at all.
  layer = *systemVfs;
  layer.pNext = nullptr;
  layer.zName = "aquifer-wal";
  layer.szOsFile = static_cast<int>(realOffset()) + systemVfs->szOsFile;
  layer.xOpen = open;
  return sqlite3_vfs_register(&layer, 0) == SQLITE_OK ? layer.zName : nullptr;
}

}  // namespace

const char* walGatheringVfs() {
  static const char* name = registerLayer();
  return name;
}

}  // namespace aquifer::meta::sql
