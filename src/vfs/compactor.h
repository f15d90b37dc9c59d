// Background compaction: which chunks are worth it (docs/formats/metadata.md §4.5), one job per chunk, few at a time. A chunk that was
// compacted a moment ago is left alone until it has gained records in proportion to what was written then: small writes all over a large
// chunk would otherwise have it written again for every few of them. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "base/thread_pool.h"
#include "meta/ops/meta.h"

namespace aquifer::vfs {

using meta::Ino;

struct LastCompaction {
  size_t records = 0;       // afterwards; or at an attempt that gained nothing: what could not shrink then will not shrink now
  uint64_t bytes = 0;       // that it wrote
  int64_t atNanos = 0;
};
// Is a chunk of `records` records worth another one, if each record may cost bytesPerRecord?
bool compactionPays(const LastCompaction& last, size_t records, uint64_t bytesPerRecord, int64_t nowNanos);

class Compactor {
 public:
  // `changed(ino, index)`: after a compaction that replaced slices.
  Compactor(meta::Meta& meta, std::function<void(Ino, uint32_t)> changed);
  ~Compactor() { stop(); }
  void stop();   // waits for what runs; afterwards nothing starts any more
  void setReadOnly(bool on) { readOnly_ = on; }
  // After a read that found `records` records in the chunk.
  void afterRead(Ino ino, uint32_t index, size_t records);
  // After a write; `records` as the commit counted. At 2500 and more the writer itself compacts: it produces faster than the background clears.
  void afterWrite(Ino ino, uint32_t index, uint32_t records);

 private:
  using ChunkKey = std::pair<Ino, uint32_t>;
  void start(Ino ino, uint32_t index, size_t records, uint64_t bytesPerRecord);
  void compact(Ino ino, uint32_t index);
  static constexpr int kThreads = 10;
  static constexpr size_t kQueue = 1000, kRemembered = 4096, kSyncThreshold = 2500;
  meta::Meta& meta_;
  const std::function<void(Ino, uint32_t)> changed_;
  bool readOnly_ = false;
  std::atomic<bool> stopped_{false};
  std::mutex mu_;
  std::map<ChunkKey, bool> running_;
  std::map<ChunkKey, LastCompaction> last_;
  ThreadPool pool_;
};

}  // namespace aquifer::vfs
