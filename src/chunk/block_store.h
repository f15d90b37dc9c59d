// Slices in object storage: naming, compression, the caches in front, staging behind. A slice is an immutable byte string of
// `size` bytes cut into blocks; a block is one object. Format: docs/formats/data.md.
//
// Thread-safe. Synchronous: concurrency comes from the callers and from the bounded upload and prefetch pools inside.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "chunk/buffer.h"
#include "meta/model/types.h"
#include "object/object_store.h"

namespace aquifer::chunk {

enum class Checksum { none, full, shrink, extend };
enum class Eviction { none, twoRandom, lru };

struct BlockConfig {
  uint64_t blockSize = 4u << 20;
  std::string compression = "none";      // none, lz4, zstd
  bool hashPrefix = false;
  std::string uuid;                      // of the volume: <cacheDir>/<uuid>/raw/…
  std::string cacheDirs;                 // ':'-separated, globs; "memory"; "" with cacheSize 0 = no cache
  uint64_t cacheSize = 100ull << 30, cacheItems = 0;
  uint64_t fallbackCacheSize = 100u << 20;   // in memory, once no directory can be used
  double freeSpaceRatio = 0.1;
  uint32_t cacheMode = 0600;
  bool cachePartialOnly = false, cacheLargeWrite = false;
  Checksum checksum = Checksum::extend;
  Eviction eviction = Eviction::twoRandom;
  int64_t cacheScanIntervalSec = 3600, cacheExpireSec = 0;
  uint64_t bufferSize = 300u << 20, leastBufferSize = 32u << 20;   // a smaller bufferSize becomes the least
  uint64_t maxReadahead = 0;             // 0: 8 blocks
  int prefetch = 1, maxUploads = 20, maxDownloads = 200, ioRetries = 10;
  int putTimeoutMs = 60'000, getTimeoutMs = 60'000;
  bool writeback = false;
  uint64_t writebackThreshold = 0;       // only blocks below are staged; 0 = all
  int64_t uploadDelaySec = 0;
  int uploadHourFrom = 0, uploadHourTo = 0;  // equal: always
  int maxStageWrite = 1000;
};

// "chunks/0/0/5_1_2097152" and its hashed form.
std::string blockKey(meta::SliceId id, uint32_t index, uint32_t size, bool hashPrefix);
// Splits a key (any folder) into id, index, size; false if it is not a block's name.
bool parseBlockKey(std::string_view key, meta::SliceId* id, uint32_t* index, uint32_t* size);

struct CacheStatus {
  uint64_t totalBytes = 0, missBytes = 0;
  std::map<std::string, uint64_t> locations;   // cache directory (with '/') or "memory" -> bytes
};

// Collects the bytes of one new slice and uploads blocks as they fill. One thread at a time.
class SliceWriter {
 public:
  virtual ~SliceWriter() = default;
  // The id may come later than the first bytes, but before flushTo/finish.
  virtual void setId(meta::SliceId id) = 0;
  virtual meta::SliceId id() const = 0;
  // off <= length(); never below what was uploaded (uploadedTo()).
  virtual Status writeAt(uint32_t off, object::Bytes data, const std::function<bool()>& interrupted) = 0;
  virtual uint32_t length() const = 0;
  virtual uint32_t uploadedTo() const = 0;
  // Bytes [off, off+out.size()) as they were written; false if some of them are on their way to storage and not in memory any more.
  virtual bool copyOut(uint32_t off, object::MutableBytes out) const = 0;
  virtual void flushTo(uint32_t off) = 0;      // start the upload of every whole block below off; returns at once
  virtual Status finish(uint32_t length) = 0;  // upload the rest and wait for all of it; the blocks are stored (or staged) when ok
  virtual void abort() = 0;                    // drop; uploaded blocks are deleted in the background
};

class BlockStore {
 public:
  virtual ~BlockStore() = default;
  virtual const BlockConfig& config() const = 0;
  virtual BufferPool& buffers() = 0;
  // mayStage false (compaction): never held back on local disk by write-back.
  virtual std::unique_ptr<SliceWriter> newSlice(uint8_t tier, bool mayStage = true) = 0;
  // Exactly out.size() bytes of slice (id, size) from `off`; the range lies inside the slice. Blocks are read side by side.
  virtual Status read(meta::SliceId id, uint32_t size, uint32_t off, object::MutableBytes out) = 0;
  // The same if all of it is at hand (memory, cache, staging); false, with `out` undefined, when a request would be needed.
  virtual bool readCached(meta::SliceId id, uint32_t size, uint32_t off, object::MutableBytes out) = 0;
  // Start fetching the blocks of the range into the cache, without waiting; dropped when busy.
  virtual void prefetch(meta::SliceId id, uint32_t size, uint32_t off, uint32_t len) = 0;
  virtual Status remove(meta::SliceId id, uint32_t size) = 0;    // staged, cached and stored blocks
  // Cache control of warmup: bring in / drop / look. The byte counts are whole blocks of the slice.
  virtual Status fill(meta::SliceId id, uint32_t size) = 0;
  virtual Status evict(meta::SliceId id, uint32_t size) = 0;
  virtual Status check(meta::SliceId id, uint32_t size, CacheStatus* status) = 0;
  virtual std::string cacheDirList() const = 0;                  // ':'-joined with the UUID, as .config shows it
  virtual uint64_t stagedBytes() const = 0;
  virtual bool uploadsFail() const = 0;                          // the latest upload did: the store is probably out of reach
  virtual void dropReadBuffers() = 0;                            // give the memory of recently read blocks back to writers
  virtual void setLimits(int64_t uploadBps, int64_t downloadBps) = 0;
  virtual object::ObjectStore& objects() = 0;
  virtual Status close() = 0;                                    // waits for uploads (not for staged ones), stops threads
};

Result<std::unique_ptr<BlockStore>> openBlockStore(std::unique_ptr<object::ObjectStore> objects, const BlockConfig& config);

}  // namespace aquifer::chunk
