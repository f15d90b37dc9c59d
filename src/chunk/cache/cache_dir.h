// One cache directory, <cache-dir>/<uuid>: its identity (.lock), the blocks below raw/, the queue in front and the thread that
// writes it, and a housekeeper that scans, watches free space and evicts. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "chunk/buffer.h"
#include "chunk/cache/block_file.h"
#include "chunk/cache/cache_index.h"
#include "chunk/cache/disk_health.h"
#include "chunk/cache/open_files.h"

namespace aquifer::chunk {

struct CacheDirConfig {
  std::string root;                 // without '/' at the end
  uint64_t capacity = 0, items = 0; // 0 items: derived from the file system
  double freeRatio = 0.1;
  uint32_t mode = 0600;
  bool hashPrefix = false, writeback = false;
  Checksum checksum = Checksum::extend;
  Eviction eviction = Eviction::twoRandom;
  int64_t scanIntervalSec = 3600, expireSec = 0;
  uint64_t queueBytes = 16u << 20;
};

class CacheDir {
 public:
  // Makes the directory and its .lock, starts the threads. The errno of the disk when it cannot be used.
  static Result<std::unique_ptr<CacheDir>> open(const CacheDirConfig& config);
  ~CacheDir();

  const std::string& root() const { return config_.root; }
  const std::string& id() const { return id_; }
  bool read(const BlockId& block, uint32_t off, object::MutableBytes out);
  void insert(const BlockId& block, const BufferRef& data, bool forced);
  bool contains(const BlockId& block);
  void erase(const BlockId& block);
  // The file of an uploaded staged block has become an ordinary one; it is the first to go.
  void adopt(const BlockId& block);
  void close();

  std::string rawPath(const BlockId& block) const { return pathIn("raw", block); }
  std::string stagedPath(const BlockId& block) const { return pathIn("rawstaging", block); }
  bool lowSpace() const { return lowSpace_.load(std::memory_order_relaxed); }     // below the free ratio
  bool stageFull() const { return stageFull_.load(std::memory_order_relaxed); }   // below half of it
  bool down() const { return health_.state() == DiskHealth::State::down; }
  bool scanned() const { return scanned_.load(std::memory_order_relaxed); }
  uint64_t usedBytes() const { return index_.bytes(); }
  uint64_t items() const { return index_.items(); }
  const CacheDirConfig& config() const { return config_; }
  uint32_t dirMode() const { return dirMode_; }

 private:
  explicit CacheDir(const CacheDirConfig& config);
  Status prepare();
  std::string pathIn(const char* area, const BlockId& block) const;
  void writeLoop();
  void houseLoop();
  void writeOne(const BlockId& block, const BufferRef& data);
  void dropDamaged(const BlockId& block);
  void indexed(const BlockId& block, uint32_t atime);
  bool unindex(const BlockId& block);
  void scan();
  void scanFolder(const std::string& path, int depth, int64_t start);
  void checkSpace();
  void makeRoom();
  void removeVictims(const std::vector<BlockId>& victims);
  void expire();
  void checkLock();
  void probe();
  void noteIo(const Status& s, int64_t startNanos);

  bool overfull() const { return index_.bytes() > capacity_ || (itemLimit_ && index_.items() > itemLimit_); }

  const CacheDirConfig config_;
  const uint32_t dirMode_;
  std::string id_;
  CacheIndex index_;
  OpenFiles open_;
  DiskHealth health_;
  std::atomic<uint64_t> capacity_, itemLimit_;   // as configured, or what the file system leaves
  std::atomic<double> freeRatio_;
  std::atomic<bool> scanned_{false}, lowSpace_{false}, stageFull_{false}, stop_{false};
  bool lockLost_ = false;

  std::mutex mu_;                       // the queue
  std::condition_variable work_, space_, tick_;
  std::deque<BlockId> queue_;
  std::unordered_map<BlockId, BufferRef, BlockIdHash> pending_;
  std::atomic<size_t> pendingCount_{0};
  uint64_t queuedBytes_ = 0;
  std::thread writer_, housekeeper_;
};

}  // namespace aquifer::chunk
