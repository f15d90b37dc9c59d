// Whole blocks that were fetched a moment ago or ahead of a sequential reader. They spare the streams a second trip while the
// disk cache is behind, or absent. Thread-safe.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <unordered_map>

#include "chunk/block_id.h"
#include "chunk/buffer.h"

namespace aquifer::chunk {

class RecentBlocks {
 public:
  explicit RecentBlocks(size_t limitBytes) : limit_(limitBytes) {}
  // nullptr: not here. endOfUse: the reader has come to the block's end, it may go first.
  BufferRef find(const BlockId& block, bool endOfUse);
  bool contains(const BlockId& block);
  void add(const BlockId& block, BufferRef data);
  void remove(const BlockId& block);
  void dropIdle(int64_t idleNanos);   // not used for that long; 0: all
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Item {
    BlockId block;
    BufferRef data;
    int64_t usedNanos = 0;
  };
  using Items = std::list<Item>;
  void drop(Items::iterator it, Items& into);
  const size_t limit_;
  std::atomic<size_t> bytes_{0};
  std::mutex mu_;
  Items order_;  // front: goes first
  std::unordered_map<BlockId, Items::iterator, BlockIdHash> index_;
};

}  // namespace aquifer::chunk
