// Names one block: which slice, which block of it, how many (plain) bytes. A value.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "meta/model/types.h"

namespace aquifer::chunk {

struct BlockId {
  meta::SliceId id = 0;
  uint32_t index = 0, size = 0;
  auto operator<=>(const BlockId&) const = default;
};

struct BlockIdHash {
  size_t operator()(const BlockId& b) const {
    // Slice ids are consecutive: a multiplication spreads them over shards and buckets.
    uint64_t h = (b.id * 0x9E3779B97F4A7C15ull) ^ ((uint64_t{b.index} << 32 | b.size) * 0xC2B2AE3D27D4EB4Full);
    return static_cast<size_t>(h ^ (h >> 29));
  }
};

// The blocks of a slice.
inline uint32_t blockCount(uint32_t sliceSize, uint64_t blockSize) {
  return static_cast<uint32_t>((sliceSize + blockSize - 1) / blockSize);
}
inline BlockId blockOf(meta::SliceId id, uint32_t sliceSize, uint32_t index, uint64_t blockSize) {
  const uint64_t start = index * blockSize;
  return {id, index, static_cast<uint32_t>(sliceSize - start < blockSize ? sliceSize - start : blockSize)};
}

}  // namespace aquifer::chunk
