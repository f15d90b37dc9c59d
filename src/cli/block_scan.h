// The blocks below chunks/ in the object storage. Functions without state; the visitor runs on the caller's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "meta/model/types.h"
#include "object/object_store.h"

namespace aquifer::cli {

struct BlockObject {
  std::string key;
  bool leftover = false;          // of a put that died: no block
  meta::SliceId id = 0;
  uint32_t index = 0, size = 0;   // as the name says
  uint64_t bytes = 0;             // of the object
  int64_t mtime = 0;              // unix seconds, 0 unknown
};

// Every object below chunks/ whose name is a block's, and leftovers of unfinished ones. Objects without size or time in the listing are asked for them.
Status forEachBlock(object::ObjectStore& store, const std::function<Status(const BlockObject&)>& visit);

// Number of blocks of a slice, and the size of one of them.
uint32_t blockCount(uint32_t sliceSize, uint64_t blockSize);
uint32_t blockLength(uint32_t sliceSize, uint64_t blockSize, uint32_t index);

// A set of blocks in 16 bytes each. add() all, then sort(), then ask.
class BlockSet {
 public:
  void add(meta::SliceId id, uint32_t index, uint32_t size) { blocks_.push_back({id, index, size}); }
  void sort();
  bool has(meta::SliceId id, uint32_t index, uint32_t size) const;
  size_t count() const { return blocks_.size(); }

 private:
  struct Block {
    meta::SliceId id;
    uint32_t index, size;
    auto operator<=>(const Block&) const = default;
  };
  std::vector<Block> blocks_;
};

}  // namespace aquifer::cli
