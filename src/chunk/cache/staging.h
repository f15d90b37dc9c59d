// Write-back: blocks that were acknowledged from local disk and wait for their upload. They lie in rawstaging/, have an index of
// their own, and no cache code can reach them: eviction only knows CacheIndex. A restart finds them by a scan.
// Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/thread_pool.h"
#include "chunk/buffer.h"
#include "chunk/cache/disk_cache.h"

namespace aquifer::chunk {

class Staging {
 public:
  struct Hooks {
    // Store the block (a few attempts).
    std::function<Status(const BlockId&, object::Bytes, uint8_t tier)> upload;
    std::function<void(const BlockId&)> removeObject;
    // May a block be uploaded from memory right now? The upload hook takes its own place in the upload bound, so this only asks.
    std::function<bool()> uploadIdle;
    std::function<Result<BufferRef>(size_t)> buffer;
  };
  // `cache` outlives this.
  Staging(const BlockConfig& config, DiskCache& cache, Hooks hooks);
  ~Staging();
  void start();   // scan what an earlier process left, then upload what is due
  // Ok: the block is on local disk and will be uploaded. Else it has to go to the store directly.
  Status stage(const BlockId& block, const BufferRef& data, uint8_t tier);
  bool read(const BlockId& block, uint32_t off, object::MutableBytes out);
  bool contains(const BlockId& block, std::string* where);
  void erase(const BlockId& block);   // the slice is deleted
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t blocks() const { return count_.load(std::memory_order_relaxed); }
  void stop();                        // what is not uploaded stays for the next start

 private:
  struct Entry {
    CacheDir* dir = nullptr;
    int64_t stagedAt = 0;    // unix seconds
    int64_t notBefore = 0;   // after a failed upload
    uint8_t tier = 0;
    bool uploading = false;
    BufferRef memory;        // the bytes, while an upload from memory is queued
  };
  void add(const BlockId& block, CacheDir* dir, int64_t stagedAt, uint8_t tier);
  bool remove(const BlockId& block);      // from the index; holds mu_
  bool isOwn(const BlockId& block) {
    std::lock_guard lock(mu_);
    return own_.contains(block);
  }
  std::unique_lock<std::mutex> againstScan() {
    return scanned_.load() ? std::unique_lock<std::mutex>() : std::unique_lock(scanMu_);
  }
  CacheDir* locate(const BlockId& block); // nullptr: not staged. Also finds what the scan has not come to yet
  void loop();
  void scan(CacheDir* dir, const std::string& folder, const std::string& key, int depth);
  void startUploads();
  void relieve();                         // disk pressure: do not wait for the delay
  bool startUpload(const BlockId& block);
  void upload(BlockId block);
  void uploaded(const BlockId& block);
  std::shared_ptr<BlockFile> open(const BlockId& block);
  bool inHours() const;

  const BlockConfig config_;
  DiskCache& cache_;
  const Hooks hooks_;
  const uint32_t dirMode_;
  std::atomic<uint64_t> bytes_{0}, count_{0};
  std::atomic<int> writing_{0};
  std::atomic<bool> stop_{false}, scanned_{false};
  std::mutex scanMu_;   // before mu_. Until everything is scanned: a file and its entry come and go together
  std::mutex mu_;
  std::condition_variable tick_;
  std::unordered_map<BlockId, Entry, BlockIdHash> entries_;
  std::unordered_set<BlockId, BlockIdHash> own_;   // staged by this process while it was still scanning: not for the scan
  std::set<std::pair<int64_t, BlockId>> order_;   // those not being uploaded, oldest first
  ThreadPool pool_;
  std::thread thread_;
};

// a <= hour < b, or wrapping midnight; equal: always.
bool hourAllowed(int hour, int from, int to);

}  // namespace aquifer::chunk
