// What this process knows about limits: the quotas and the usage of the volume as of the last refresh, plus its own commits
// since. Decides cheaply whether a change can be far from every limit; near one the transaction reads the record itself.
// Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "meta/ops/meta.h"

namespace aquifer::meta {

class QuotaCache {
 public:
  void replaceAll(std::map<QuotaKey, Quota> quotas);     // after a refresh
  void set(const QuotaKey& key, const Quota& quota);
  void erase(const QuotaKey& key);
  std::optional<Quota> get(const QuotaKey& key) const;
  std::map<QuotaKey, Quota> all() const;
  void add(const QuotaKey& key, int64_t space, int64_t inodes);  // own commits; only if present
  bool anyDir() const { return anyDir_.load(std::memory_order_acquire); }  // false: nobody has to walk parents
  bool hasDir(Ino dir) const;

  void setVolume(int64_t usedSpace, int64_t usedInodes);
  void addVolume(int64_t space, int64_t inodes);
  int64_t usedSpace() const { return usedSpace_.load(std::memory_order_relaxed); }
  int64_t usedInodes() const { return usedInodes_.load(std::memory_order_relaxed); }

 private:
  void recount();
  mutable std::shared_mutex mu_;
  std::map<QuotaKey, Quota> quotas_;
  std::atomic<bool> anyDir_{false};
  std::atomic<int64_t> usedSpace_{0}, usedInodes_{0};
};

}  // namespace aquifer::meta
