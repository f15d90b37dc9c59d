#include "chunk/uploader.h"

#include <chrono>

#include "base/clock.h"
#include "base/log.h"

namespace aquifer::chunk {

namespace {

constexpr int kFullStoreAttempts = 3;   // a store that is full will not have room in seconds; the writer should know

metrics::Counter& uploading() {
  static auto& g = metrics::gauge("object_request_uploading", "uploads in flight");
  return g;
}

}  // namespace

Uploader::Uploader(object::ObjectStore& objects, const BlockConfig& config, Compression compression)
    : objects_(objects),
      hashPrefix_(config.hashPrefix),
      compression_(compression),
      tokens_(config.maxUploads, &uploading()),
      scratch_(SIZE_MAX / 2) {}

bool Uploader::idle() {
  if (!tokens_.tryAcquire()) return false;
  tokens_.release();
  return true;
}

void Uploader::stop() {
  std::lock_guard lock(mu_);
  stop_ = true;
  stopped_.notify_all();
}

bool Uploader::sleepSeconds(int64_t seconds, const std::function<bool()>& cancelled) {
  const int64_t until = monotonicNanos() + seconds * 1'000'000'000;
  std::unique_lock lock(mu_);
  while (!stop_ && monotonicNanos() < until) {
    if (cancelled && cancelled()) return false;
    stopped_.wait_for(lock, std::chrono::milliseconds(100));
  }
  return !stop_;
}

Status Uploader::put(const BlockId& block, object::Bytes data, uint8_t tier, int attempts, const std::function<bool()>& cancelled) {
  const std::string key = blockKey(block.id, block.index, block.size, hashPrefix_);
  Status last = Code::interrupted;
  BufferRef packed;
  for (int k = 0; k < attempts; ++k) {
    if (k > 0 && !sleepSeconds(int64_t{k} * k, cancelled)) break;
    if (cancelled && cancelled()) break;
    TokenHold hold(tokens_);
    if (compression_ != Compression::none && !packed) {
      TRY_ASSIGN(packed, scratch_.get(compressBound(compression_, data.size())));
      TRY_ASSIGN(packed->size, compress(compression_, data, {packed->data(), packed->capacity()}));
    }
    last = objects_.put(key, packed ? object::Bytes(packed->data(), packed->size) : data, tier);
    failing_.store(!last, std::memory_order_relaxed);
    if (last || last.is(Code::unsupported) || last.is(Code::invalid)) break;
    LOG_WARN("upload of {} failed (attempt {} of {}): {}", key, k + 1, attempts, last.text());
    if ((last.is(Code::noSpace) || last.is(Code::quotaExceeded)) && k + 1 >= kFullStoreAttempts) break;
  }
  return last;
}

}  // namespace aquifer::chunk
