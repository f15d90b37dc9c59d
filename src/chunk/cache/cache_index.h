// What lies in one cache directory: block -> time of last use, and how often it has come back into use: of two blocks the one that
// nobody came back to goes first, so that reading much data once does not push out what is used again and again. Only evictable blocks are here; staged ones are kept by
// StagedBlocks and so cannot become victims. Thread-safe, sharded.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

#include "chunk/block_id.h"
#include "chunk/block_store.h"

namespace aquifer::chunk {

class CacheIndex {
 public:
  static constexpr uint64_t kOverhead = 4096;  // charged per block on top of its bytes: the file system's share

  bool touch(const BlockId& block, uint32_t now);           // false: not here
  bool contains(const BlockId& block) const;
  bool add(const BlockId& block, uint32_t atime);           // false: known already, atime becomes the later one
  bool erase(const BlockId& block);
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t items() const { return items_.load(std::memory_order_relaxed); }

  // A scan: add() what it meets, then forget what was here before `beginScan` and was not met.
  void beginScan() { generation_.fetch_add(1); }
  std::vector<BlockId> endScan();

  // Takes victims out of the index until at most `goalBytes` and `goalItems` are left; the caller removes the files.
  std::vector<BlockId> evict(Eviction policy, uint64_t goalBytes, uint64_t goalItems, uint32_t now, uint32_t expireSec);
  // Takes out up to `most` of a sample that were not used for expireSec.
  std::vector<BlockId> expired(uint32_t now, uint32_t expireSec, size_t sample);

 private:
  struct Entry {
    uint32_t atime = 0;
    uint32_t generation : 30 = 0;
    uint32_t uses : 2 = 0;   // periods in which it was used again after it had come
  };
  static constexpr uint32_t kPeriod = 16;               // seconds: one pass over a block is one use, in however many requests
  static constexpr uint32_t kMostUses = 3;
  static constexpr uint32_t kGenerations = 1u << 30;
  using Map = std::unordered_map<BlockId, Entry, BlockIdHash>;
  struct Shard {
    mutable std::mutex mu;
    Map map;
  };
  Shard& shard(const BlockId& b) { return shards_[BlockIdHash()(b) >> 7 & (kShards - 1)]; }
  const Shard& shard(const BlockId& b) const { return const_cast<CacheIndex*>(this)->shard(b); }
  Map::iterator take(Shard& s, Map::iterator it, std::vector<BlockId>& victims);  // holds s.mu
  void evictRandom(Shard& s, uint64_t goalBytes, uint64_t goalItems, uint32_t now, uint32_t expireSec, std::vector<BlockId>& victims);
  void evictOldest(uint64_t goalBytes, uint64_t goalItems, std::vector<BlockId>& victims);

  static constexpr size_t kShards = 16;
  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> bytes_{0}, items_{0};
  std::atomic<uint32_t> generation_{0};
  std::mutex randomMu_;
  std::minstd_rand random_{0x5eed};
};

}  // namespace aquifer::chunk
