#include "chunk/cache/disk_cache.h"

#include <glob.h>

#include <algorithm>

#include "base/log.h"
#include "chunk/cache/memory_cache.h"

namespace aquifer::chunk {

namespace {

constexpr uint64_t kSmallestQueue = 2;   // blocks

std::string withoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

std::vector<std::string> expandCacheDirs(const std::string& list, const std::string& uuid) {
  std::vector<std::string> out;
  const char separator = list.find(':') != std::string::npos ? ':' : ',';
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(separator, at), list.size());
    std::string item = withoutSlash(list.substr(at, end - at));
    at = end + 1;
    if (item.empty()) continue;
    if (item.find_first_of("*?[") == std::string::npos) {
      out.push_back(item);
      continue;
    }
    glob_t g{};
    if (::glob(item.c_str(), GLOB_ONLYDIR, nullptr, &g) == 0)
      for (size_t i = 0; i < g.gl_pathc; ++i) out.push_back(withoutSlash(g.gl_pathv[i]));
    ::globfree(&g);
  }
  for (auto& dir : out) dir += "/" + uuid;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<std::unique_ptr<DiskCache>> DiskCache::open(const BlockConfig& config) {
  std::unique_ptr<DiskCache> cache(new DiskCache);
  cache->hashPrefix_ = config.hashPrefix;
  cache->fallbackSize_ = config.fallbackCacheSize;
  const auto roots = expandCacheDirs(config.cacheDirs, config.uuid);
  if (roots.empty()) return Status(Code::config, "no cache directory matches " + config.cacheDirs);
  CacheDirConfig dir;
  dir.capacity = config.cacheSize / roots.size();
  dir.items = config.cacheItems / roots.size();
  dir.freeRatio = config.freeSpaceRatio;
  dir.mode = config.cacheMode;
  dir.hashPrefix = config.hashPrefix;
  dir.writeback = config.writeback;
  dir.checksum = config.checksum;
  dir.eviction = config.eviction;
  dir.scanIntervalSec = config.cacheScanIntervalSec;
  dir.expireSec = config.cacheExpireSec;
  dir.queueBytes = std::max<uint64_t>(config.bufferSize / 5 / roots.size(), kSmallestQueue * config.blockSize);
  Status last;
  for (auto& root : roots) {
    dir.root = root;
    auto opened = CacheDir::open(dir);
    if (!opened) {
      last = opened.status().annotate("cache directory " + root);
      LOG_WARN("{}", last.text());
      continue;
    }
    cache->dirs_.push_back(*std::move(opened));
  }
  if (cache->dirs_.empty()) return last;
  cache->layout_ = cache->build();
  return cache;
}

std::shared_ptr<const DiskCache::Layout> DiskCache::build() {
  std::vector<std::string> ids;
  std::vector<CacheDir*> live;
  for (auto& d : dirs_) {
    // Two directories with one identity (a copied .lock) would be one on the ring: the first in the order of paths counts.
    if (d->down() || std::find(ids.begin(), ids.end(), d->id()) != ids.end()) continue;
    ids.push_back(d->id());
    live.push_back(d.get());
  }
  return std::make_shared<const Layout>(Layout{HashRing(ids), live});
}

std::shared_ptr<const DiskCache::Layout> DiskCache::layout() {
  std::lock_guard lock(mu_);
  for (auto* d : layout_->dirs)
    if (d->down()) {
      layout_ = build();
      break;
    }
  return layout_;
}

BlockCache* DiskCache::fallback() {
  std::lock_guard lock(mu_);
  if (!fallback_) {
    LOG_WARN("no cache directory is usable any more: caching in memory");
    fallback_ = std::make_unique<MemoryCache>(fallbackSize_, 0, 0, true);
  }
  return fallback_.get();
}

CacheDir* DiskCache::owner(const BlockId& block) {
  if (dirs_.size() == 1) return dirs_[0]->down() ? nullptr : dirs_[0].get();
  auto l = layout();
  if (l->dirs.empty()) return nullptr;
  if (l->dirs.size() == 1) return l->dirs[0];
  return l->dirs[l->ring.owner(blockKey(block.id, block.index, block.size, hashPrefix_))];
}

CacheDir* DiskCache::legacy(const BlockId& block, const CacheDir* owner) {
  if (dirs_.size() < 2) return nullptr;
  auto* dir = dirs_[fnv1(blockKey(block.id, block.index, block.size, hashPrefix_)) % dirs_.size()].get();
  return dir == owner || dir->down() ? nullptr : dir;
}

bool DiskCache::read(const BlockId& block, uint32_t off, object::MutableBytes out) {
  auto* dir = owner(block);
  if (!dir) return fallback()->read(block, off, out);
  if (dir->read(block, off, out)) return true;
  // Older clients placed blocks by another rule.
  auto* old = legacy(block, dir);
  return old && old->read(block, off, out);
}

void DiskCache::insert(const BlockId& block, const BufferRef& data, bool forced) {
  if (auto* dir = owner(block))
    dir->insert(block, data, forced);
  else
    fallback()->insert(block, data, forced);
}

bool DiskCache::contains(const BlockId& block, std::string* where) {
  auto* dir = owner(block);
  if (!dir) return fallback()->contains(block, where);
  if (!dir->contains(block)) {
    dir = legacy(block, dir);
    if (!dir || !dir->contains(block)) return false;
  }
  if (where) *where = dir->root() + "/";
  return true;
}

void DiskCache::erase(const BlockId& block) {
  auto* dir = owner(block);
  if (!dir) {
    fallback()->erase(block);
    return;
  }
  dir->erase(block);
  if (auto* old = legacy(block, dir)) old->erase(block);
}

std::string DiskCache::describe() const {
  std::string out;
  for (auto& d : dirs_) {
    if (!out.empty()) out += ':';
    out += d->root();
  }
  return out;
}

void DiskCache::close() {
  for (auto& d : dirs_) d->close();
}

}  // namespace aquifer::chunk
