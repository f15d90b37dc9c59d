// The slice lists of recently read chunks, painted: what a reader sees. Shared by all readers of this client; whoever changes or
// learns of a change invalidates. Thread-safe.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "meta/model/types.h"

namespace aquifer::chunk {

// Painted pieces from left to right without gaps up to the last written byte; Slice::pos is the place in the chunk.
using ChunkView = std::vector<meta::Slice>;

class ChunkViews {
 public:
  using Load = std::function<Result<std::vector<meta::Slice>>(meta::Ino, uint32_t index)>;
  explicit ChunkViews(Load load) : load_(std::move(load)) {}
  Result<std::shared_ptr<const ChunkView>> get(meta::Ino ino, uint32_t index);
  void invalidate(meta::Ino ino, uint64_t off, uint64_t len);

 private:
  using Key = std::pair<meta::Ino, uint32_t>;
  struct Item {
    std::shared_ptr<const ChunkView> view;
    std::list<Key>::iterator place;
  };
  struct Shard {
    std::mutex mu;
    std::map<Key, Item> items;
    std::list<Key> order;      // front: used longest ago
    size_t pieces = 0;
    uint64_t generation = 0;   // of invalidations: a list that was loaded across one is not kept
  };
  static constexpr size_t kShards = 32;
  // 32 bytes each: at most 8 MiB in all, unless single chunks are larger.
  static constexpr size_t kPiecesPerShard = 8192;
  // By inode alone, so that all chunks of a file are neighbours.
  Shard& shard(meta::Ino ino) { return shards_[(ino * 0x9E3779B97F4A7C15ull) >> 59]; }
  static void drop(Shard& s, std::map<Key, Item>::iterator it);
  const Load load_;
  std::array<Shard, kShards> shards_;
};

}  // namespace aquifer::chunk
