#include "meta/ops/quota_cache.h"

#include <utility>

namespace aquifer::meta {

void QuotaCache::recount() {
  auto it = quotas_.lower_bound({Kind::dirQuota, 0});
  anyDir_.store(it != quotas_.end() && it->first.kind == Kind::dirQuota, std::memory_order_release);
}

void QuotaCache::replaceAll(std::map<QuotaKey, Quota> quotas) {
  std::unique_lock lock(mu_);
  quotas_ = std::move(quotas);
  recount();
}

void QuotaCache::set(const QuotaKey& key, const Quota& quota) {
  std::unique_lock lock(mu_);
  quotas_[key] = quota;
  recount();
}

void QuotaCache::erase(const QuotaKey& key) {
  std::unique_lock lock(mu_);
  quotas_.erase(key);
  recount();
}

std::optional<Quota> QuotaCache::get(const QuotaKey& key) const {
  std::shared_lock lock(mu_);
  auto it = quotas_.find(key);
  if (it == quotas_.end()) return std::nullopt;
  return it->second;
}

std::map<QuotaKey, Quota> QuotaCache::all() const {
  std::shared_lock lock(mu_);
  return quotas_;
}

void QuotaCache::add(const QuotaKey& key, int64_t space, int64_t inodes) {
  std::unique_lock lock(mu_);
  auto it = quotas_.find(key);
  if (it == quotas_.end()) return;
  it->second.usedSpace += space;
  it->second.usedInodes += inodes;
}

bool QuotaCache::hasDir(Ino dir) const {
  std::shared_lock lock(mu_);
  return quotas_.contains({Kind::dirQuota, dir});
}

void QuotaCache::setVolume(int64_t usedSpace, int64_t usedInodes) {
  usedSpace_.store(usedSpace, std::memory_order_relaxed);
  usedInodes_.store(usedInodes, std::memory_order_relaxed);
}

void QuotaCache::addVolume(int64_t space, int64_t inodes) {
  usedSpace_.fetch_add(space, std::memory_order_relaxed);
  usedInodes_.fetch_add(inodes, std::memory_order_relaxed);
}

}  // namespace aquifer::meta
