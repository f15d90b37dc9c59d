#include "vfs/meta_source.h"

namespace aquifer::vfs {

Result<std::vector<meta::Slice>> MetaSource::readChunk(Ino ino, uint32_t index) {
  auto slices = meta_.readChunk(ino, index);
  // While it is being written here the writer decides.
  auto state = inodes_.find(ino);
  if (slices && !(state && state->dirty)) compactor_.afterRead(ino, index, slices->size());
  return slices;
}

// The time of the newest write call, which getattr has shown already; the writer took its own a moment later.
meta::Time MetaSource::timeOf(Ino ino, meta::Time given) {
  auto state = inodes_.find(ino);
  int64_t last = state ? state->lastWrite.load() : 0;
  if (last == 0) return given;
  return {last / 1'000'000'000, static_cast<uint32_t>(last % 1'000'000'000)};
}

// Before the writer calls itself clean: whoever then finds it clean must also find the new length and the mark of the change.
Result<chunk::Committed> MetaSource::published(Ino ino, Result<meta::WriteResult> written) {
  TRY_ASSIGN(auto w, std::move(written));
  if (auto state = inodes_.find(ino)) state->growLength(w.length);
  changes_.changed(ino);
  return chunk::Committed{w.length, w.offset, w.recordCount};
}

Result<chunk::Committed> MetaSource::commitWrite(Ino ino, uint32_t index, const meta::Slice& slice, meta::Time mtime) {
  return published(ino, meta_.write(ino, index, slice, timeOf(ino, mtime)));
}

Result<chunk::Committed> MetaSource::commitAppend(Ino ino, meta::SliceId id, uint32_t size, uint32_t off, uint32_t len, meta::Time mtime) {
  return published(ino, meta_.append(ino, id, size, off, len, timeOf(ino, mtime)));
}

void MetaSource::committed(Ino ino, uint32_t index, const chunk::Committed& result, bool moved) {
  if (moved) moved_(ino);
  compactor_.afterWrite(ino, index, result.recordCount);
}

}  // namespace aquifer::vfs
