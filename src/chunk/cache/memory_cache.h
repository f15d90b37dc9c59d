// The cache of `memory` and of a client whose cache disks are gone. Copies blocks out of the buffer pool, since what is cached
// must not starve writers. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "chunk/cache/block_cache.h"

namespace aquifer::chunk {

class MemoryCache : public BlockCache {
 public:
  // items 0: any number. expireSec 0: never.
  MemoryCache(uint64_t capacity, uint64_t items, int64_t expireSec, bool evicts);
  ~MemoryCache() override;
  bool read(const BlockId& block, uint32_t off, object::MutableBytes out) override;
  void insert(const BlockId& block, const BufferRef& data, bool forced) override;
  bool contains(const BlockId& block, std::string* where) override;
  void erase(const BlockId& block) override;
  std::string describe() const override { return "memory"; }
  uint64_t memoryBytes() const override;
  void close() override {}

 private:
  struct Entry {
    std::shared_ptr<std::byte[]> data;
    int64_t atime = 0;
  };
  using Map = std::unordered_map<BlockId, Entry, BlockIdHash>;
  Map::iterator drop(Map::iterator it);   // holds mu_
  void makeRoom(int64_t now);             // holds mu_
  const uint64_t capacity_, items_;
  const int64_t expireSec_;
  const bool evicts_;
  mutable std::mutex mu_;
  Map map_;
  uint64_t bytes_ = 0;
};

}  // namespace aquifer::chunk
