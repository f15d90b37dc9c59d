// The BlockStore over an object store: joins uploader, fetcher, cache, staging and read buffers. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/thread_pool.h"
#include "chunk/block_id.h"
#include "chunk/block_store.h"
#include "chunk/cache/block_cache.h"
#include "chunk/cache/staging.h"
#include "chunk/fetcher.h"
#include "chunk/recent_blocks.h"
#include "chunk/uploader.h"

namespace aquifer::chunk {

class Store final : public BlockStore {
 public:
  Store(std::unique_ptr<object::ObjectStore> objects, const BlockConfig& config, Compression compression);
  ~Store() override;
  Status start();   // opens the cache

  const BlockConfig& config() const override { return config_; }
  BufferPool& buffers() override { return *pool_; }
  std::unique_ptr<SliceWriter> newSlice(uint8_t tier, bool mayStage) override;
  Status read(meta::SliceId id, uint32_t size, uint32_t off, object::MutableBytes out) override;
  bool readCached(meta::SliceId id, uint32_t size, uint32_t off, object::MutableBytes out) override;
  void prefetch(meta::SliceId id, uint32_t size, uint32_t off, uint32_t len) override;
  Status remove(meta::SliceId id, uint32_t size) override;
  Status fill(meta::SliceId id, uint32_t size) override;
  Status evict(meta::SliceId id, uint32_t size) override;
  Status check(meta::SliceId id, uint32_t size, CacheStatus* status) override;
  std::string cacheDirList() const override { return cache_ ? cache_->describe() : std::string(); }
  uint64_t stagedBytes() const override { return staging_ ? staging_->bytes() : 0; }
  bool uploadsFail() const override { return uploader_.failing(); }
  void dropReadBuffers() override { recent_.dropIdle(0); }
  void setLimits(int64_t uploadBps, int64_t downloadBps) override { objects_->setLimits(uploadBps, downloadBps); }
  object::ObjectStore& objects() override { return *objects_; }
  Status close() override;

  // For slice writers. Stages or uploads one finished block.
  Status storeBlock(const BlockId& block, const BufferRef& data, uint8_t tier, bool mayStage, const std::function<bool()>& cancelled);
  ThreadPool& uploads() { return uploads_; }
  void removeBlock(const BlockId& block);   // everywhere, now; a failure is logged and left to gc

 private:
  Status readBlock(const BlockId& block, uint32_t off, object::MutableBytes out);
  bool readLocal(const BlockId& block, uint32_t off, object::MutableBytes out);
  void endOfUse(const BlockId& block);   // a reader has read it to its end
  bool local(const BlockId& block, std::string* where);
  Result<BufferRef> fetchWhole(const BlockId& block, bool forced, bool readAhead);
  Result<BufferRef> readBuffer(size_t bytes);
  bool plan(ThreadPool& pool, const BlockId& block, bool forced);
  bool aheadOf(const BlockId& block);
  void startStaging(DiskCache& disk);
  void keepTime();
  template <class Fn>
  Status eachPiece(meta::SliceId id, uint32_t size, uint32_t off, size_t len, const Fn& fn) const;

  const BlockConfig config_;
  const std::unique_ptr<object::ObjectStore> objects_;
  const std::shared_ptr<BufferPool> pool_;   // shared with the gauge, which may be read after this store has gone
  BufferPool stagePool_;   // staged blocks on their way from disk: while the store hangs they must not take the writers' memory
  Uploader uploader_;
  Fetcher fetcher_;
  std::unique_ptr<BlockCache> cache_;
  std::unique_ptr<Staging> staging_;
  RecentBlocks recent_;
  ThreadPool uploads_, fetches_, prefetches_;
  std::mutex plannedMu_;
  std::unordered_map<BlockId, bool, BlockIdHash> planned_;   // waiting in fetches_ (false) or prefetches_ (true), or fetched there
  std::mutex mu_;
  std::condition_variable tick_;
  bool closed_ = false;
  std::thread keeper_;
};

}  // namespace aquifer::chunk
