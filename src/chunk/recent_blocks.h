// Whole blocks that were fetched a moment ago or ahead of a sequential reader. They spare the streams a second trip while the
// disk cache is behind, or absent. Blocks that a reader has read to their end go first, and only an eighth of the memory holds such:
// enough for requests that come out of order and for a second reader close behind. Thread-safe.
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
  BufferRef find(const BlockId& block);   // nullptr: not here
  void ended(const BlockId& block);       // a reader has come to its end
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
    bool ended = false;
  };
  using Items = std::list<Item>;
  Items& listOf(const Item& item) { return item.ended ? ended_ : order_; }
  void drop(Items::iterator it, Items& into);
  const size_t limit_;
  std::atomic<size_t> bytes_{0};
  std::mutex mu_;
  size_t endedBytes_ = 0;
  Items ended_, order_;  // front: the oldest
  std::unordered_map<BlockId, Items::iterator, BlockIdHash> index_;
};

}  // namespace aquifer::chunk
