#include "cli/memory_plan.h"

#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>

#include "base/control_group.h"
#include "chunk/cache/disk_cache.h"
#include "cli/values.h"

namespace aquifer::cli {

namespace {

constexpr uint64_t kMiB = 1ull << 20;
constexpr uint64_t kFixed = 40 * kMiB;           // both processes' code, stacks, tables: what a mount at rest has
constexpr uint64_t kPerThread = 64 * 1024;       // of a serving thread besides its two buffers
constexpr uint64_t kPerCachedBlock = 96;         // of the index
constexpr size_t kWantedThreads = 48;            // rather smaller requests than fewer threads: one that waits must not stop the others
constexpr uint32_t kSmallestRequest = 128 * 1024;

uint64_t percent(uint64_t of, uint64_t n) { return of / 100 * n; }

uint64_t threadBytes(uint32_t maxWrite) { return 2 * uint64_t{maxWrite} + kPerThread; }

bool liesInMemory(std::string path) {
  struct statfs fs {};
  while (::statfs(path.c_str(), &fs) != 0) {   // it may not be there yet
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.size() <= 1) return false;
    path.erase(slash == 0 ? 1 : slash);
  }
  return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

bool cacheLiesInMemory(const chunk::BlockConfig& blocks) {
  if (blocks.cacheDirs == "memory") return true;
  for (const auto& dir : chunk::expandCacheDirs(blocks.cacheDirs, blocks.uuid))
    if (liesInMemory(dir)) return true;
  return false;
}

}  // namespace

Result<uint64_t> parseMemoryMax(const std::string& text) {
  if (text.empty()) return uint64_t{0};
  uint64_t total = 0;
  if (text == "auto") {
    const auto group = ControlGroup::ofThisProcess();
    const auto limit = group ? group->limit() : std::nullopt;
    if (!limit) return uint64_t{0};
    total = *limit / 10 * 9;
  } else {
    TRY_ASSIGN(total, parseSize(text, 'M', "memory-max"));
  }
  if (total < kLeastMemoryMax)
    return Status(Code::config, fmt::format("--memory-max {} is {} MiB: a mount needs {} MiB at least", text, total / kMiB, kLeastMemoryMax / kMiB));
  return total;
}

uint64_t engineShare(uint64_t total) { return total ? percent(total - kFixed, 10) : 0; }

Result<MemoryPlan> planMemory(uint64_t total, uint32_t maxWrite, bool encrypted, chunk::BlockConfig& blocks) {
  MemoryPlan plan;
  plan.maxWrite = maxWrite;
  if (total == 0) return plan;
  uint64_t rest = total - kFixed - engineShare(total);
  if (blocks.cacheSize > 0 && cacheLiesInMemory(blocks)) {
    if (blocks.writeback)
      return Status(Code::config, fmt::format("--writeback needs a cache directory on disk under --memory-max: what waits in {} is memory", blocks.cacheDirs));
    blocks.cacheSize = std::min(blocks.cacheSize, percent(total, 25));
    rest -= blocks.cacheSize;
  }
  plan.pageCache = percent(rest, 18);
  const uint64_t threads = percent(rest, 14);
  while (plan.maxWrite > kSmallestRequest && threads / threadBytes(plan.maxWrite) < kWantedThreads) plan.maxWrite /= 2;
  plan.serverThreads = std::clamp<uint64_t>(threads / threadBytes(plan.maxWrite), 16, 512);

  // Buffers for blocks under way, and a quarter of them again for staged ones. What compression and encryption make of a block is a
  // copy beside it, one a transfer.
  uint64_t pool = percent(rest, 38);
  const uint64_t copies = (blocks.compression == "none" || blocks.compression.empty() ? 0u : 1u) + (encrypted ? 1u : 0u);
  if (copies) {
    const uint64_t each = percent(pool, 25) / (copies * blocks.blockSize);
    blocks.maxUploads = static_cast<int>(std::clamp<uint64_t>(each, 1, static_cast<uint64_t>(blocks.maxUploads)));
    blocks.maxDownloads = static_cast<int>(std::clamp<uint64_t>(each, 1, static_cast<uint64_t>(blocks.maxDownloads)));
    pool -= percent(pool, 50);
  }
  blocks.bufferSize = std::min(blocks.bufferSize, pool);
  blocks.leastBufferSize = std::min(blocks.leastBufferSize, blocks.bufferSize);
  blocks.fallbackCacheSize = std::min(blocks.fallbackCacheSize, percent(rest, 5));
  const uint64_t items = percent(rest, 8) / kPerCachedBlock;
  blocks.cacheItems = blocks.cacheItems ? std::min(blocks.cacheItems, items) : items;
  if (blocks.bufferSize < 4 * blocks.blockSize)
    return Status(Code::config, fmt::format("--memory-max of {} MiB leaves {} MiB for buffers: with blocks of {} MiB four of them are the least", total / kMiB,
                                            blocks.bufferSize / kMiB, blocks.blockSize / kMiB));
  return plan;
}

}  // namespace aquifer::cli
