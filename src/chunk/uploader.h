// Puts blocks into the object store: compression, the bound on requests in flight, retries. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "chunk/block_id.h"
#include "chunk/block_store.h"
#include "chunk/compress.h"
#include "chunk/tokens.h"

namespace aquifer::chunk {

class Uploader {
 public:
  Uploader(object::ObjectStore& objects, const BlockConfig& config, Compression compression);
  // `attempts` tries with k^2 seconds before the k-th repetition; gives up early when `cancelled` says so or after stop().
  Status put(const BlockId& block, object::Bytes data, uint8_t tier, int attempts, const std::function<bool()>& cancelled = {});
  bool idle();    // a request could start right now
  bool failing() const { return failing_.load(std::memory_order_relaxed); }   // the latest attempt failed
  void stop();    // repetitions end; requests in flight finish

 private:
  bool sleepSeconds(int64_t seconds, const std::function<bool()>& cancelled);  // false: give up
  object::ObjectStore& objects_;
  const bool hashPrefix_;
  const Compression compression_;
  Tokens tokens_;
  BufferPool scratch_;   // compressed bytes; bounded by the tokens, and apart from the pool since writers fill that one
  std::atomic<bool> failing_{false};
  std::mutex mu_;
  std::condition_variable stopped_;
  bool stop_ = false;
};

}  // namespace aquifer::chunk
