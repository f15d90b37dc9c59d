// Gives metadata the two things it asks of data: delete a slice's objects, and write several pieces as one new slice.
// For mounts and for tools (gc, compact) alike. Both outlive nothing of each other: unset with meta.setDataHooks({}) first.
#pragma once

#include "chunk/block_store.h"
#include "chunk/tokens.h"
#include "meta/ops/meta.h"

namespace aquifer::vfs {

void wireDataHooks(meta::Meta& meta, chunk::BlockStore& blocks);

// Writes pieces of slices as one new slice. Thread-safe; few merges run at a time, the others wait.
class Merger {
 public:
  explicit Merger(chunk::BlockStore& blocks);
  // Reads the pieces in block-size steps and stores them as slice `newId`; holes become zeros. On failure nothing stays stored.
  Status merge(const std::vector<meta::Slice>& pieces, meta::SliceId newId, uint8_t tier);

 private:
  chunk::BlockStore& blocks_;
  chunk::Tokens running_;
};

}  // namespace aquifer::vfs
