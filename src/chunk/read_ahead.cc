#include "chunk/read_ahead.h"

#include <algorithm>

namespace aquifer::chunk {

ReadAhead::ReadAhead(uint64_t blockSize, uint64_t maxWindow, uint64_t memory)
    : block_(blockSize), maxWindow_(std::min(maxWindow, memory / 5 * 4)), memory_(memory / 5 * 4) {}

ReadAhead::Stream& ReadAhead::streamFor(uint64_t off, uint64_t len) {
  Stream* best = nullptr;
  for (auto& s : streams_)
    if (s.usedAt && s.last <= off && off <= s.last + s.window + block_ && (!best || s.last > best->last)) best = &s;
  if (!best) {
    // The kernel's requests of one stream arrive a little out of order.
    for (auto& s : streams_)
      if (s.usedAt && off < s.last && s.last - off <= std::max(s.window / 8, block_) && (!best || s.last < best->last)) best = &s;
  }
  if (best) {
    if (off + len > best->last) {
      best->total += off + len - best->last;
      best->last = off + len;
    }
  } else {
    best = &*std::min_element(streams_.begin(), streams_.end(), [](auto& a, auto& b) { return a.usedAt < b.usedAt; });
    *best = {off + len, len, 0, off + len, 0};
  }
  best->usedAt = ++clock_;
  return *best;
}

ReadAhead::Range ReadAhead::next(uint64_t off, uint64_t len, uint64_t fileLength, uint64_t used) {
  std::lock_guard lock(mu_);
  auto& s = streamFor(off, len);
  if (s.window == 0 && block_ <= maxWindow_ && (off == 0 || s.total > len)) {
    s.window = block_;
  } else if (s.window && s.window < maxWindow_ && s.total >= s.window && memory_ > used + 4 * s.window) {
    s.window = std::min(maxWindow_, s.window * 2);
  } else if (s.window >= block_ && (memory_ < used + s.window / 2 || s.total < s.window / 4)) {
    s.window /= 2;
  }
  if (s.window < block_ || s.last >= fileLength) return {};
  const uint64_t from = std::max(s.fetchedTo, s.last);
  // Half a window is still ahead: ask again later, for more at once.
  if (from >= s.last + s.window / 2 + 1) return {};
  const uint64_t to = std::min(fileLength, (s.last + s.window + block_ - 1) / block_ * block_);
  if (to <= from) return {};
  s.fetchedTo = to;
  return {from, to - from};
}

}  // namespace aquifer::chunk
