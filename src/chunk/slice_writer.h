// The SliceWriter of Store: one buffer per block, uploads through the store's pool, the last block in the calling thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/stages.h"
#include "chunk/store.h"

namespace aquifer::chunk {

class SliceWriterImpl final : public SliceWriter {
 public:
  SliceWriterImpl(Store& store, uint8_t tier, bool mayStage);
  ~SliceWriterImpl() override;   // without finish: as abort
  void setId(meta::SliceId id) override { id_ = id; }
  meta::SliceId id() const override { return id_; }
  // All or nothing: every buffer is there before the first byte is copied.
  Status writeAt(uint32_t off, object::Bytes data, const std::function<bool()>& interrupted) override;
  uint32_t length() const override { return length_; }
  uint32_t uploadedTo() const override { return uploadedTo_; }
  bool copyOut(uint32_t off, object::MutableBytes out) const override;
  void flushTo(uint32_t off) override;
  Status finish(uint32_t length) override;
  void abort() override;

 private:
  // Shared with the uploads in flight, which may outlive an aborted writer.
  struct Uploads {
    std::mutex mu;
    std::condition_variable idle;
    int running = 0;
    StageNanos stages{};   // of the uploads by the pool
    bool aborted = false;
    Status first;                   // the first failure; it cancels the others
    std::vector<BlockId> stored;
    bool givenUp() {
      std::lock_guard lock(mu);
      return aborted || !first;
    }
  };
  void ensure(uint32_t block, uint32_t bytes, size_t* capacity) const;
  BlockId blockAt(uint32_t block, uint32_t length) const { return blockOf(id_, length, block, blockSize_); }
  bool handOver(uint32_t block, uint32_t length);
  static void upload(Store& store, const std::shared_ptr<Uploads>& up, const BlockId& id, const BufferRef& data, uint8_t tier, bool mayStage);

  Store& store_;
  const uint8_t tier_;
  const bool mayStage_;
  const uint32_t blockSize_;
  meta::SliceId id_ = 0;
  uint32_t length_ = 0, uploadedTo_ = 0;
  bool finished_ = false;
  std::vector<BufferRef> blocks_;   // by index; empty once handed over
  std::shared_ptr<Uploads> up_;
};

}  // namespace aquifer::chunk
