// A bounded set of open cache files, so that a warm small read is one preadv. Thread-safe, sharded.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "chunk/block_id.h"
#include "chunk/cache/block_file.h"

namespace aquifer::chunk {

class OpenFiles {
 public:
  std::shared_ptr<BlockFile> find(const BlockId& block);
  void add(const BlockId& block, std::shared_ptr<BlockFile> file);
  void remove(const BlockId& block);
  // Closes what was not used for that long: an open file that somebody has deleted still occupies the disk.
  void dropIdle(int64_t idleNanos);

 private:
  struct Item {
    std::shared_ptr<BlockFile> file;
    int64_t usedNanos = 0;
  };
  using Map = std::unordered_map<BlockId, Item, BlockIdHash>;
  struct Shard {
    std::mutex mu;
    Map map;
  };
  static constexpr size_t kShards = 16, kPerShard = 16;
  Shard& shard(const BlockId& b) { return shards_[BlockIdHash()(b) >> 11 & (kShards - 1)]; }
  std::array<Shard, kShards> shards_;
};

}  // namespace aquifer::chunk
