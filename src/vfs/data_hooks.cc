#include "vfs/data_hooks.h"

#include <algorithm>
#include <cstring>

#include "base/metrics.h"

namespace aquifer::vfs {

namespace {
metrics::Histogram& mergedSizes() {
  static auto& h = metrics::histogram("compact_size_histogram_bytes", "Distribution of size of compacted data in bytes.",
                                      metrics::exponentialBuckets(1024, 2, 16));
  return h;
}
}  // namespace

// A merge holds two blocks, what it read and what it writes, while it waits for a third. With one for every four blocks of memory, half
// of it at most is held that way, so those waits end.
Merger::Merger(chunk::BlockStore& blocks)
    : blocks_(blocks), running_(static_cast<int>(blocks.buffers().limit() / (4 * blocks.config().blockSize))) {}

Status Merger::merge(const std::vector<meta::Slice>& pieces, meta::SliceId newId, uint8_t tier) {
  chunk::TokenHold turn(running_);
  const uint32_t step = static_cast<uint32_t>(std::min<uint64_t>(blocks_.config().blockSize, meta::kChunkSize));
  constexpr int64_t kBufferWaitMs = 60'000;
  TRY_ASSIGN(auto buffer, blocks_.buffers().get(step, {}, kBufferWaitMs));
  // Straight to the store: the objects it replaces may go once it is committed, and other clients cannot read this one's disk.
  auto out = blocks_.newSlice(tier, false);
  out->setId(newId);
  auto copy = [&]() -> Status {
    uint32_t pos = 0;
    for (auto& p : pieces) {
      for (uint32_t done = 0; done < p.len;) {
        // Up to the next block border of the new slice, so that every write fills at most one block.
        uint32_t n = std::min(p.len - done, step - pos % step);
        if (p.id == 0) std::memset(buffer->data(), 0, n);
        else TRY(blocks_.read(p.id, p.size, p.off + done, {buffer->data(), n}));
        TRY(out->writeAt(pos, {buffer->data(), n}, {}));
        pos += n;
        done += n;
        if (pos % step == 0) out->flushTo(pos);
      }
    }
    TRY(out->finish(pos));
    mergedSizes().observe(pos);
    return {};
  };
  auto s = copy();
  if (!s) out->abort();
  return s;
}

void wireDataHooks(meta::Meta& meta, chunk::BlockStore& blocks) {
  mergedSizes();   // shown from the start, not from the first compaction on
  meta::DataHooks hooks;
  hooks.deleteSlice = [&blocks](meta::SliceId id, uint32_t size) { return blocks.remove(id, size); };
  hooks.compact = [merger = std::make_shared<Merger>(blocks)](const std::vector<meta::Slice>& pieces, meta::SliceId newId, uint8_t tier) {
    return merger->merge(pieces, newId, tier);
  };
  meta.setDataHooks(std::move(hooks));
}

}  // namespace aquifer::vfs
