// The disk cache: one or several cache directories with the hash ring in front. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "chunk/cache/block_cache.h"
#include "chunk/cache/cache_dir.h"
#include "chunk/cache/hash_ring.h"

namespace aquifer::chunk {

class DiskCache : public BlockCache {
 public:
  // Directories that cannot be used are skipped with a warning; none left: the last error.
  static Result<std::unique_ptr<DiskCache>> open(const BlockConfig& config);
  bool read(const BlockId& block, uint32_t off, object::MutableBytes out) override;
  void insert(const BlockId& block, const BufferRef& data, bool forced) override;
  bool contains(const BlockId& block, std::string* where) override;
  void erase(const BlockId& block) override;
  std::string describe() const override;
  void close() override;

  const std::vector<std::unique_ptr<CacheDir>>& dirs() const { return dirs_; }
  CacheDir* owner(const BlockId& block);   // nullptr: every directory is down

 private:
  DiskCache() = default;
  struct Layout {
    HashRing ring;
    std::vector<CacheDir*> dirs;   // of the ring, in its order
  };
  std::shared_ptr<const Layout> layout();
  CacheDir* legacy(const BlockId& block, const CacheDir* owner);
  std::shared_ptr<const Layout> build();
  std::vector<std::unique_ptr<CacheDir>> dirs_;   // sorted by path
  bool hashPrefix_ = false;
  uint64_t fallbackSize_ = 0;
  std::mutex mu_;
  std::shared_ptr<const Layout> layout_;
  std::unique_ptr<BlockCache> fallback_;   // a small memory cache once every disk is down
  BlockCache* fallback();
};

// The directories that `list` names: split at ':' (at ',' when there is none), globs expanded, `uuid` appended.
std::vector<std::string> expandCacheDirs(const std::string& list, const std::string& uuid);

}  // namespace aquifer::chunk
