#include "chunk/store.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "chunk/cache/cache_metrics.h"
#include "chunk/cache/memory_cache.h"
#include "chunk/parallel.h"
#include "chunk/slice_writer.h"

namespace aquifer::chunk {

namespace {

constexpr int kFetchThreads = 32;          // read-ahead and pieces of one request; foreground reads bring their own thread
constexpr int kStageAttempts = 3;
constexpr int64_t kIdleReadBuffer = 10'000'000'000;
constexpr int64_t kBufferWaitMs = 60'000;

BlockConfig normalized(BlockConfig c) {
  c.bufferSize = std::max(c.bufferSize, c.leastBufferSize);
  if (c.maxReadahead == 0) c.maxReadahead = 8 * c.blockSize;
  c.maxUploads = std::max(1, c.maxUploads);
  c.maxDownloads = std::max(1, c.maxDownloads);
  c.ioRetries = std::max(0, c.ioRetries);
  if (c.cacheSize == 0) {
    c.writeback = false;
    c.prefetch = 0;
  }
  if (c.cacheDirs == "memory") c.writeback = false;
  return c;
}

}  // namespace

Store::Store(std::unique_ptr<object::ObjectStore> objects, const BlockConfig& config, Compression compression)
    : config_(normalized(config)),
      objects_(std::move(objects)),
      pool_(std::make_shared<BufferPool>(config_.bufferSize)),
      stagePool_(std::max(config_.bufferSize / 4, 2 * config_.blockSize)),
      uploader_(*objects_, config_, compression),
      fetcher_(*objects_, config_, compression),
      recent_(config_.bufferSize / 5 * 2),
      uploads_("upload", config_.maxUploads, 4096),
      fetches_("fetch", std::min(config_.maxDownloads, kFetchThreads), 256),
      prefetches_("prefetch", std::max(1, config_.prefetch), static_cast<size_t>(std::max(4 * config_.prefetch, 10))) {
  metrics::gaugeCallback("used_buffer_size_bytes", "bytes of buffers in use", [weak = std::weak_ptr(pool_)] {
    auto pool = weak.lock();
    return pool ? static_cast<double>(pool->used()) : 0.0;
  });
}

Store::~Store() { (void)close(); }

Status Store::start() {
  if (config_.cacheSize > 0) {
    if (config_.cacheDirs == "memory") {
      cache_ = std::make_unique<MemoryCache>(config_.cacheSize, config_.cacheItems, config_.cacheExpireSec,
                                             config_.eviction != Eviction::none);
    } else {
      auto disk = DiskCache::open(config_);
      if (disk) {
        startStaging(**disk);
        cache_ = *std::move(disk);
        if (staging_) staging_->start();
      } else {
        // A client without its disk is slow, not useless.
        LOG_WARN("{}; caching {} MiB in memory instead", disk.status().text(), config_.fallbackCacheSize >> 20);
        cache_ = std::make_unique<MemoryCache>(config_.fallbackCacheSize, 0, config_.cacheExpireSec, true);
      }
    }
  }
  keeper_ = std::thread([this] { keepTime(); });
  return {};
}

void Store::startStaging(DiskCache& disk) {
  if (!config_.writeback) return;
  staging_ = std::make_unique<Staging>(
      config_, disk,
      Staging::Hooks{[this](const BlockId& b, object::Bytes data, uint8_t tier) { return uploader_.put(b, data, tier, kStageAttempts); },
                     [this](const BlockId& b) { (void)objects_->remove(blockKey(b.id, b.index, b.size, config_.hashPrefix)); },
                     // From memory only while writers have plenty: bytes that are safe on disk must not hold up those that are not.
                     [this] { return pool_->used() <= pool_->limit() / 2 && !uploader_.failing() && uploader_.idle(); }, [this](size_t n) { return stagePool_.get(n, {}, kBufferWaitMs); }});
}

void Store::keepTime() {
  setThreadName("chunk-keeper");
  std::unique_lock lock(mu_);
  while (!closed_) {
    lock.unlock();
    recent_.dropIdle(kIdleReadBuffer);
    pool_->trim();
    stagePool_.trim();
    static auto& cacheMemory = metrics::gauge("store_cache_size_bytes", "memory of the cache");
    cacheMemory.set(cache_ ? static_cast<double>(cache_->memoryBytes()) : 0);
    static auto& readMemory = metrics::gauge("used_read_buffer_size_bytes", "bytes of read buffers");
    readMemory.set(static_cast<double>(recent_.bytes()));
    lock.lock();
    if (!closed_) tick_.wait_for(lock, std::chrono::seconds(1));
  }
}

Status Store::close() {
  {
    std::lock_guard lock(mu_);
    if (closed_) return {};
    closed_ = true;
  }
  tick_.notify_all();
  if (keeper_.joinable()) keeper_.join();
  uploads_.drain();
  prefetches_.stop();
  fetches_.stop();
  uploader_.stop();
  uploads_.stop();
  if (staging_) staging_->stop();
  if (cache_) cache_->close();
  recent_.dropIdle(0);
  return {};
}

std::unique_ptr<SliceWriter> Store::newSlice(uint8_t tier, bool mayStage) {
  return std::make_unique<SliceWriterImpl>(*this, tier, mayStage);
}

// ---- writing ----

Status Store::storeBlock(const BlockId& block, const BufferRef& data, uint8_t tier, bool mayStage,
                         const std::function<bool()>& cancelled) {
  const uint64_t threshold = config_.writebackThreshold ? config_.writebackThreshold : config_.blockSize + 1;
  if (staging_ && mayStage && block.size < threshold && staging_->stage(block, data, tier)) return {};
  if (cache_ && (block.size < config_.blockSize || config_.cacheLargeWrite)) cache_->insert(block, data, false);
  return uploader_.put(block, {data->data(), block.size}, tier, config_.ioRetries + 1, cancelled);
}

void Store::removeBlock(const BlockId& block) {
  if (staging_) staging_->erase(block);
  if (cache_) cache_->erase(block);
  recent_.remove(block);
  const std::string key = blockKey(block.id, block.index, block.size, config_.hashPrefix);
  if (auto s = objects_->remove(key); !s && !s.is(Code::notFound)) LOG_WARN("remove {}: {}", key, s.text());
}

// ---- reading ----

template <class Fn>
Status Store::eachPiece(meta::SliceId id, uint32_t size, uint32_t off, size_t len, const Fn& fn) const {
  const uint64_t b = config_.blockSize;
  for (uint64_t at = off, end = off + len; at < end;) {
    const auto index = static_cast<uint32_t>(at / b);
    const uint64_t n = std::min(end, (index + 1) * b) - at;
    TRY(fn(blockOf(id, size, index, b), static_cast<uint32_t>(at % b), static_cast<size_t>(at - off), static_cast<size_t>(n)));
    at += n;
  }
  return {};
}

bool Store::readLocal(const BlockId& block, uint32_t off, object::MutableBytes out) {
  if (auto data = recent_.find(block)) {
    std::memcpy(out.data(), data->data() + off, out.size());
    if (off + out.size() == block.size) endOfUse(block);
    return true;
  }
  if ((staging_ && staging_->read(block, off, out)) || (cache_ && cache_->read(block, off, out))) {
    auto& m = CacheMetrics::get();
    m.hits.add();
    m.hitBytes.add(static_cast<double>(out.size()));
    return true;
  }
  return false;
}

void Store::endOfUse(const BlockId& block) {
  if (cache_ && cache_->contains(block, nullptr))
    recent_.remove(block);   // whoever comes later finds it there
  else
    recent_.ended(block);
}

bool Store::local(const BlockId& block, std::string* where) {
  return (staging_ && staging_->contains(block, where)) || (cache_ && cache_->contains(block, where));
}

// Read-ahead and prefetch never wait for memory; who waits for bytes may make room first.
Result<BufferRef> Store::readBuffer(size_t bytes) {
  if (auto b = pool_->tryGet(bytes)) return b;
  recent_.dropIdle(0);
  return pool_->get(bytes, {}, kBufferWaitMs);
}

Result<BufferRef> Store::fetchWhole(const BlockId& block, bool forced, bool readAhead) {
  return fetcher_.whole(
      block,
      [&]() -> Result<BufferRef> {
        if (!readAhead) return readBuffer(block.size);
        // A fifth of the memory stays for writers.
        if (pool_->used() + block.size > pool_->limit() / 5 * 4) return Code::noMemory;
        if (auto b = pool_->tryGet(block.size)) return b;
        return Code::noMemory;
      },
      [&](const BufferRef& data) {
        // Before the waiters go on, so that nobody finds the block nowhere.
        if (cache_ && (forced || !config_.cachePartialOnly || block.size < config_.blockSize)) cache_->insert(block, data, forced);
        // What was forced is in the cache's queue and needs no second place in memory.
        if (!forced || !cache_) recent_.add(block, data);
      });
}

Status Store::readBlock(const BlockId& block, uint32_t off, object::MutableBytes out) {
  if (cache_) {
    auto& m = CacheMetrics::get();
    m.miss.add();
    m.missBytes.add(static_cast<double>(out.size()));
  }
  auto copy = [&](const BufferRef& data) { std::memcpy(out.data(), data->data() + off, out.size()); };
  if (fetcher_.canRange() && (!cache_ || (off > 0 && out.size() <= config_.blockSize / 4)) && !aheadOf(block)) {
    if (auto joined = fetcher_.flights().join(block); joined && *joined) {
      copy(**joined);
      return {};
    }
    auto s = fetcher_.range(block, off, out);
    if (s) {
      if (cache_ && config_.prefetch > 0) (void)plan(prefetches_, block, true);
      return {};
    }
    if (s.is(Code::notFound)) return s;
  }
  auto data = fetchWhole(block, false, false);
  // We may have joined a read-ahead that found no memory; that is no reason to fail a reader.
  if (data.is(Code::noMemory)) data = fetchWhole(block, false, false);
  TRY(data);
  copy(*data);
  if (off + out.size() == block.size) endOfUse(block);
  return {};
}

Status Store::read(meta::SliceId id, uint32_t size, uint32_t off, object::MutableBytes out) {
  if (off > size || out.size() > size - off) return Code::invalid;
  struct Piece {
    BlockId block;
    uint32_t off;
    object::MutableBytes out;
  };
  std::vector<Piece> missing;
  TRY(eachPiece(id, size, off, out.size(), [&](const BlockId& block, uint32_t boff, size_t at, size_t n) -> Status {
    if (!readLocal(block, boff, out.subspan(at, n))) missing.push_back({block, boff, out.subspan(at, n)});
    return {};
  }));
  if (missing.empty()) return {};
  return parallelFor(fetches_, missing.size(), missing.size(),
                     [&](size_t i) { return readBlock(missing[i].block, missing[i].off, missing[i].out); });
}

bool Store::readCached(meta::SliceId id, uint32_t size, uint32_t off, object::MutableBytes out) {
  if (off > size || out.size() > size - off) return false;
  return eachPiece(id, size, off, out.size(), [&](const BlockId& block, uint32_t boff, size_t at, size_t n) -> Status {
           return readLocal(block, boff, out.subspan(at, n)) ? Status() : Status(Code::notFound);
         }).isOk();
}

void Store::prefetch(meta::SliceId id, uint32_t size, uint32_t off, uint32_t len) {
  if (off >= size) return;
  (void)eachPiece(id, size, off, std::min(len, size - off), [&](const BlockId& block, uint32_t, size_t, size_t) -> Status {
    if (recent_.contains(block) || local(block, nullptr) || plan(fetches_, block, false)) return {};
    return Code::busy;
  });
}

// Read-ahead has planned the block. A stream that comes before the fetch has begun gets the whole block itself, rather than a part
// of what is needed wholly anyway; a random read, whose block is only prefetched on suspicion, does not wait for so much.
bool Store::aheadOf(const BlockId& block) {
  std::lock_guard lock(plannedMu_);
  auto it = planned_.find(block);
  return it != planned_.end() && !it->second;
}

// Queues the fetch of a whole block; false when the queue is full.
bool Store::plan(ThreadPool& pool, const BlockId& block, bool forced) {
  {
    std::lock_guard lock(plannedMu_);
    if (!planned_.try_emplace(block, forced).second) return true;
  }
  auto done = [this, block] {
    std::lock_guard lock(plannedMu_);
    planned_.erase(block);
  };
  const bool queued = pool.trySubmit([this, block, forced, done] {
    if (!recent_.contains(block) && !local(block, nullptr)) (void)fetchWhole(block, forced, true).status();
    done();
  });
  if (!queued) done();
  return queued;
}

// ---- slices as a whole ----

Status Store::remove(meta::SliceId id, uint32_t size) {
  Status first;
  (void)eachPiece(id, size, 0, size, [&](const BlockId& block, uint32_t, size_t, size_t) -> Status {
    if (staging_) staging_->erase(block);
    if (cache_) cache_->erase(block);
    recent_.remove(block);
    return {};
  });
  (void)eachPiece(id, size, 0, size, [&](const BlockId& block, uint32_t, size_t, size_t) -> Status {
    auto s = objects_->remove(blockKey(block.id, block.index, block.size, config_.hashPrefix));
    if (!s && !s.is(Code::notFound) && first) first = std::move(s);
    return {};
  });
  return first;
}

Status Store::fill(meta::SliceId id, uint32_t size) {
  return eachPiece(id, size, 0, size, [&](const BlockId& block, uint32_t, size_t, size_t) -> Status {
    if (local(block, nullptr)) return {};
    auto data = fetchWhole(block, true, false);
    if (data.is(Code::noMemory)) data = fetchWhole(block, true, false);
    TRY(data);
    // It may have been fetched by a reader whose insertion was dropped.
    if (cache_) cache_->insert(block, *data, true);
    return {};
  });
}

Status Store::evict(meta::SliceId id, uint32_t size) {
  return eachPiece(id, size, 0, size, [&](const BlockId& block, uint32_t, size_t, size_t) -> Status {
    if (staging_ && staging_->contains(block, nullptr)) return {};
    if (cache_) cache_->erase(block);
    recent_.remove(block);
    return {};
  });
}

Status Store::check(meta::SliceId id, uint32_t size, CacheStatus* status) {
  return eachPiece(id, size, 0, size, [&](const BlockId& block, uint32_t, size_t, size_t) -> Status {
    status->totalBytes += block.size;
    std::string where;
    if (local(block, &where))
      status->locations[where] += block.size;
    else
      status->missBytes += block.size;
    return {};
  });
}

Result<std::unique_ptr<BlockStore>> openBlockStore(std::unique_ptr<object::ObjectStore> objects, const BlockConfig& config) {
  if (config.blockSize < 4096 || config.blockSize > meta::kChunkSize) return Status(Code::config, "impossible block size");
  TRY_ASSIGN(const auto compression, parseCompression(config.compression));
  auto store = std::make_unique<Store>(std::move(objects), config, compression);
  TRY(store->start());
  return std::unique_ptr<BlockStore>(std::move(store));
}

}  // namespace aquifer::chunk
