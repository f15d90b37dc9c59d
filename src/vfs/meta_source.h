// What the data path asks of metadata, answered by meta::Meta: slice lists, slice ids, commits; counts records for compaction and
// gives commits the time of the newest write, so that mtime does not move when a buffered write is flushed. Thread-safe.
#pragma once

#include <functional>

#include "chunk/file_data.h"
#include "meta/ops/meta.h"
#include "vfs/change_clock.h"
#include "vfs/compactor.h"
#include "vfs/inode_state.h"

namespace aquifer::vfs {

class MetaSource : public chunk::SliceSource {
 public:
  // `moved(ino)`: appended bytes stand elsewhere than the kernel thought.
  MetaSource(meta::Meta& meta, InodeTable& inodes, ChangeClock& changes, Compactor& compactor, std::function<void(Ino)> moved)
      : meta_(meta), inodes_(inodes), changes_(changes), compactor_(compactor), moved_(std::move(moved)) {}

  Result<std::vector<meta::Slice>> readChunk(Ino ino, uint32_t index) override;
  Result<meta::SliceId> newSliceId() override { return meta_.newSliceId(); }
  Result<chunk::Committed> commitWrite(Ino ino, uint32_t index, const meta::Slice& slice, meta::Time mtime) override;
  Result<chunk::Committed> commitAppend(Ino ino, meta::SliceId id, uint32_t size, uint32_t off, uint32_t len, meta::Time mtime) override;
  void committed(Ino ino, uint32_t index, const chunk::Committed& result, bool moved) override;

 private:
  Result<chunk::Committed> published(Ino ino, Result<meta::WriteResult> written);
  meta::Time timeOf(Ino ino, meta::Time given);
  meta::Meta& meta_;
  InodeTable& inodes_;
  ChangeClock& changes_;
  Compactor& compactor_;
  const std::function<void(Ino)> moved_;
};

}  // namespace aquifer::vfs
