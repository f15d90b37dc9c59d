#include "chunk/cache/memory_cache.h"

#include <cstring>
#include <new>

#include "base/clock.h"
#include "chunk/cache/cache_metrics.h"

namespace aquifer::chunk {

MemoryCache::MemoryCache(uint64_t capacity, uint64_t items, int64_t expireSec, bool evicts)
    : capacity_(capacity), items_(items), expireSec_(expireSec), evicts_(evicts) {}

MemoryCache::~MemoryCache() {
  std::lock_guard lock(mu_);
  for (auto it = map_.begin(); it != map_.end();) it = drop(it);
}

bool MemoryCache::read(const BlockId& block, uint32_t off, object::MutableBytes out) {
  std::shared_ptr<std::byte[]> data;
  {
    std::lock_guard lock(mu_);
    auto it = map_.find(block);
    if (it == map_.end() || off > block.size || out.size() > block.size - off) return false;
    const int64_t now = unixSeconds();
    if (expireSec_ && it->second.atime + expireSec_ < now) {
      drop(it);
      return false;
    }
    it->second.atime = now;
    data = it->second.data;
  }
  std::memcpy(out.data(), data.get() + off, out.size());
  return true;
}

MemoryCache::Map::iterator MemoryCache::drop(Map::iterator it) {
  bytes_ -= it->first.size;
  auto& m = CacheMetrics::get();
  m.blocks.add(-1);
  m.bytes.add(-static_cast<double>(it->first.size));
  return map_.erase(it);
}

void MemoryCache::makeRoom(int64_t now) {
  // Of each two in the map's order the older goes; that order is unrelated to use.
  auto full = [&] { return bytes_ > capacity_ || (items_ && map_.size() > items_); };
  while (full() && !map_.empty()) {
    for (auto it = map_.begin(); it != map_.end() && full();) {
      auto next = std::next(it);
      if (next == map_.end() || (expireSec_ && it->second.atime + expireSec_ < now)) {
        drop(it);
        it = next;
      } else if (it->second.atime <= next->second.atime) {
        drop(it);
        it = std::next(next);
      } else {
        it = drop(next);
      }
      CacheMetrics::get().evicts.add();
    }
  }
}

void MemoryCache::insert(const BlockId& block, const BufferRef& data, bool) {
  auto& m = CacheMetrics::get();
  if (block.size > capacity_ || data->size < block.size) return;
  {
    std::lock_guard lock(mu_);
    if (map_.count(block)) return;
    if (!evicts_ && (bytes_ + block.size > capacity_ || (items_ && map_.size() >= items_))) {
      m.drops.add();
      return;
    }
  }
  std::shared_ptr<std::byte[]> copy(new (std::nothrow) std::byte[block.size]);
  if (!copy) {
    m.drops.add();
    return;
  }
  std::memcpy(copy.get(), data->data(), block.size);
  std::lock_guard lock(mu_);
  const int64_t now = unixSeconds();
  auto [it, fresh] = map_.try_emplace(block, Entry{std::move(copy), now});
  if (!fresh) return;
  bytes_ += block.size;
  m.blocks.add();
  m.bytes.add(block.size);
  m.writes.add();
  m.writeBytes.add(block.size);
  makeRoom(now);
}

bool MemoryCache::contains(const BlockId& block, std::string* where) {
  std::lock_guard lock(mu_);
  if (!map_.count(block)) return false;
  if (where) *where = "memory";
  return true;
}

void MemoryCache::erase(const BlockId& block) {
  std::lock_guard lock(mu_);
  if (auto it = map_.find(block); it != map_.end()) drop(it);
}

uint64_t MemoryCache::memoryBytes() const {
  std::lock_guard lock(mu_);
  return bytes_;
}

}  // namespace aquifer::chunk
