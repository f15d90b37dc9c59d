// One fetch per block at a time; whoever asks meanwhile waits and shares the buffer. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/stages.h"
#include "base/status.h"
#include "chunk/block_id.h"
#include "chunk/buffer.h"

namespace aquifer::chunk {

class SingleFlight {
 public:
  using Fetch = std::function<Result<BufferRef>()>;
  Result<BufferRef> run(const BlockId& block, const Fetch& fetch);
  // The result of the fetch in flight, or nullopt when there is none.
  std::optional<Result<BufferRef>> join(const BlockId& block);
  bool inFlight(const BlockId& block);

 private:
  struct Call {
    std::condition_variable done;
    std::optional<Result<BufferRef>> result;
    StageNanos stages{};   // of the fetch, set with the result
  };
  static void await(Call& call, std::unique_lock<std::mutex>& lock);
  std::mutex mu_;
  std::unordered_map<BlockId, std::shared_ptr<Call>, BlockIdHash> calls_;
};

}  // namespace aquifer::chunk
