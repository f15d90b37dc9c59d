#include "chunk/cache/cache_index.h"

#include <algorithm>
#include <tuple>

namespace aquifer::chunk {

bool CacheIndex::touch(const BlockId& block, uint32_t now) {
  auto& s = shard(block);
  std::lock_guard lock(s.mu);
  auto it = s.map.find(block);
  if (it == s.map.end()) return false;
  auto& e = it->second;
  if (now / kPeriod != e.atime / kPeriod && e.uses < kMostUses) ++e.uses;
  e.atime = now;
  return true;
}

bool CacheIndex::contains(const BlockId& block) const {
  auto& s = shard(block);
  std::lock_guard lock(s.mu);
  return s.map.count(block) > 0;
}

bool CacheIndex::add(const BlockId& block, uint32_t atime) {
  auto& s = shard(block);
  std::lock_guard lock(s.mu);
  auto [it, fresh] = s.map.try_emplace(block);
  it->second.generation = generation_.load(std::memory_order_relaxed) % kGenerations;
  it->second.atime = std::max(it->second.atime, atime);
  if (fresh) {
    bytes_.fetch_add(block.size + kOverhead, std::memory_order_relaxed);
    items_.fetch_add(1, std::memory_order_relaxed);
  }
  return fresh;
}

bool CacheIndex::erase(const BlockId& block) {
  auto& s = shard(block);
  std::lock_guard lock(s.mu);
  if (s.map.erase(block) == 0) return false;
  bytes_.fetch_sub(block.size + kOverhead, std::memory_order_relaxed);
  items_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

CacheIndex::Map::iterator CacheIndex::take(Shard& s, Map::iterator it, std::vector<BlockId>& victims) {
  bytes_.fetch_sub(it->first.size + kOverhead, std::memory_order_relaxed);
  items_.fetch_sub(1, std::memory_order_relaxed);
  victims.push_back(it->first);
  return s.map.erase(it);
}

std::vector<BlockId> CacheIndex::endScan() {
  std::vector<BlockId> gone;
  const uint32_t current = generation_.load() % kGenerations;
  for (auto& s : shards_) {
    std::lock_guard lock(s.mu);
    for (auto it = s.map.begin(); it != s.map.end();) it = it->second.generation == current ? std::next(it) : take(s, it, gone);
  }
  return gone;
}

void CacheIndex::evictRandom(Shard& s, uint64_t goalBytes, uint64_t goalItems, uint32_t now, uint32_t expireSec,
                             std::vector<BlockId>& victims) {
  // The order of a hash map is as good as random once the start is.
  std::lock_guard lock(s.mu);
  if (s.map.empty()) return;
  size_t bucket;
  {
    std::lock_guard r(randomMu_);
    bucket = random_() % s.map.bucket_count();
  }
  std::vector<BlockId> pair;
  for (size_t n = 0, buckets = s.map.bucket_count(); n < buckets; ++n) {
    if (bytes() <= goalBytes && items() <= goalItems) return;
    const size_t b = (bucket + n) % buckets;
    std::vector<BlockId> inBucket;
    for (auto it = s.map.begin(b); it != s.map.end(b); ++it) inBucket.push_back(it->first);
    for (const auto& candidate : inBucket) {
      auto it = s.map.find(candidate);
      if (expireSec && it->second.atime + expireSec < now) {
        take(s, it, victims);
        continue;
      }
      pair.push_back(candidate);
      if (pair.size() < 2) continue;
      auto a = s.map.find(pair[0]), c = s.map.find(pair[1]);
      pair.clear();
      if (a->second.uses > 0 && c->second.uses > 0) {
        // Both have earned a round; whoever is not used again will have lost it by the next.
        a->second.uses = a->second.uses - 1;
        c->second.uses = c->second.uses - 1;
        continue;
      }
      const bool first = a->second.uses != c->second.uses ? a->second.uses == 0 : a->second.atime <= c->second.atime;
      take(s, first ? a : c, victims);
      if (bytes() <= goalBytes && items() <= goalItems) return;
    }
  }
  // A lone entry in its shard would never find a partner.
  if (pair.size() == 1 && s.map.size() == 1 && (bytes() > goalBytes || items() > goalItems)) take(s, s.map.begin(), victims);
}

void CacheIndex::evictOldest(uint64_t goalBytes, uint64_t goalItems, std::vector<BlockId>& victims) {
  std::vector<std::pair<uint32_t, BlockId>> all;
  all.reserve(items());
  for (auto& s : shards_) {
    std::lock_guard lock(s.mu);
    for (auto& [block, entry] : s.map) all.emplace_back(entry.atime, block);
  }
  // Oldest first; of the same second the larger, then the smaller id.
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first, b.second.size, a.second.id, a.second.index) < std::tuple(b.first, a.second.size, b.second.id, b.second.index);
  });
  for (auto& [atime, block] : all) {
    if (bytes() <= goalBytes && items() <= goalItems) return;
    auto& s = shard(block);
    std::lock_guard lock(s.mu);
    auto it = s.map.find(block);
    if (it != s.map.end() && it->second.atime == atime) take(s, it, victims);
  }
}

std::vector<BlockId> CacheIndex::evict(Eviction policy, uint64_t goalBytes, uint64_t goalItems, uint32_t now, uint32_t expireSec) {
  std::vector<BlockId> victims;
  if (policy == Eviction::none) return victims;
  if (policy == Eviction::lru) {
    evictOldest(goalBytes, goalItems, victims);
    return victims;
  }
  size_t start;
  {
    std::lock_guard r(randomMu_);
    start = random_() % kShards;
  }
  // A pass over all pairs frees half, once kMostUses passes have used up every use; 64 passes free anything.
  for (int pass = 0; pass < 64 && (bytes() > goalBytes || items() > goalItems) && items() > 0; ++pass)
    for (size_t i = 0; i < kShards && (bytes() > goalBytes || items() > goalItems); ++i)
      evictRandom(shards_[(start + i) % kShards], goalBytes, goalItems, now, expireSec, victims);
  return victims;
}

std::vector<BlockId> CacheIndex::expired(uint32_t now, uint32_t expireSec, size_t sample) {
  std::vector<BlockId> victims;
  for (auto& s : shards_) {
    std::lock_guard lock(s.mu);
    if (s.map.empty()) continue;
    size_t bucket;
    {
      std::lock_guard r(randomMu_);
      bucket = random_() % s.map.bucket_count();
    }
    size_t looked = 0;
    std::vector<BlockId> old;
    for (size_t n = 0, buckets = s.map.bucket_count(); n < buckets && looked < sample / kShards + 1; ++n)
      for (auto it = s.map.begin((bucket + n) % buckets); it != s.map.end((bucket + n) % buckets); ++it, ++looked)
        if (it->second.atime + expireSec < now) old.push_back(it->first);
    for (auto& b : old) take(s, s.map.find(b), victims);
  }
  return victims;
}

}  // namespace aquifer::chunk
