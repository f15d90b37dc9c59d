// How --memory-max is shared out among the parts of a mount, before any of them takes memory. Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "chunk/block_store.h"

namespace aquifer::cli {

// Without a bound only maxWrite means something: it is what was asked for.
struct MemoryPlan {
  uint64_t pageCache = 0;     // bytes of files' pages between a write and the disk
  uint32_t maxWrite = 0;      // bytes of one request
  size_t serverThreads = 0;   // that serve requests at the same time
};

inline constexpr uint64_t kLeastMemoryMax = 128ull << 20;

// "" none; a size (a number alone is MiB); "auto": nine tenths of the limit of the control group, none if that has none.
Result<uint64_t> parseMemoryMax(const std::string& text);

// The share of an embedded metadata engine, which opens before the rest can be planned; 0 without a bound.
uint64_t engineShare(uint64_t total);

// total: --memory-max; 0: no bound. Lowers what `blocks` would take to its share; `maxWrite` is the request size that was asked for. `encrypted`: the volume's blocks are.
// Code::config with words when the bound cannot hold.
Result<MemoryPlan> planMemory(uint64_t total, uint32_t maxWrite, bool encrypted, chunk::BlockConfig& blocks);

}  // namespace aquifer::cli
