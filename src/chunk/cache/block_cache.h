// What the block store wants of a cache. Implementations: DiskCache, MemoryCache. Thread-safe.
#pragma once

#include <string>

#include "chunk/block_id.h"
#include "chunk/block_store.h"
#include "chunk/buffer.h"

namespace aquifer::chunk {

class BlockCache {
 public:
  virtual ~BlockCache() = default;
  // Fills `out` with verified bytes of the block from `off`, or false. A damaged copy is dropped on the way.
  virtual bool read(const BlockId& block, uint32_t off, object::MutableBytes out) = 0;
  // Keeps a whole block (data->size == block.size) or drops it when busy or full. forced: waits for a place in the queue.
  virtual void insert(const BlockId& block, const BufferRef& data, bool forced) = 0;
  // where: the directory (with '/') or "memory"; may be null.
  virtual bool contains(const BlockId& block, std::string* where) = 0;
  virtual void erase(const BlockId& block) = 0;
  virtual std::string describe() const = 0;   // ':'-joined directories, or "memory"
  virtual uint64_t memoryBytes() const { return 0; }
  virtual void close() = 0;                   // what is queued is written, threads end
};

}  // namespace aquifer::chunk
