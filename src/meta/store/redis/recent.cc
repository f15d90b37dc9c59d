#include "meta/store/redis/recent.h"

#include "base/clock.h"

namespace aquifer::meta::redis {

namespace {

constexpr size_t kMaxYoung = 8192;
constexpr size_t kMaxBytes = 256;
constexpr int64_t kLifeNanos = 5'000'000'000;

}  // namespace

Recent::Entry* Recent::at(const Key& key) {
  for (auto* map : {&young_, &old_})
    if (auto it = map->find(key); it != map->end()) return &it->second;
  return nullptr;
}

std::optional<Recent::Fact> Recent::find(const Key& key) {
  auto now = monotonicNanos();
  std::lock_guard lock(mu_);
  auto* entry = at(key);
  if (!entry || now - entry->atNanos > kLifeNanos) return std::nullopt;
  return entry->fact;
}

void Recent::put(const Key& key, Fact fact) {
  if (fact.bytes && fact.bytes->size() > kMaxBytes) return;
  Entry entry{std::move(fact), monotonicNanos()};
  std::lock_guard lock(mu_);
  if (young_.size() >= kMaxYoung) old_ = std::exchange(young_, {});
  old_.erase(key);
  young_.insert_or_assign(key, std::move(entry));
}

void Recent::replace(const Key& key, std::optional<std::string> bytes) {
  Fact fact;
  {
    std::lock_guard lock(mu_);
    if (auto* entry = at(key)) fact = entry->fact;
  }
  fact.bytes = std::move(bytes);
  fact.doubtful = 0;
  put(key, std::move(fact));
}

void Recent::confirm(const Key& key) {
  auto now = monotonicNanos();
  std::lock_guard lock(mu_);
  if (auto* entry = at(key)) entry->atNanos = now;
}

void Recent::doubt(const Key& key, uint32_t fields) {
  std::lock_guard lock(mu_);
  if (auto* entry = at(key)) entry->fact.doubtful |= fields;
}

void Recent::fills(Kind kind, uint64_t id) {
  std::lock_guard lock(mu_);
  auto* entry = at(key::node(id));
  if (!entry) return;
  auto& fact = entry->fact;
  (kind == Kind::xattr ? fact.noXattrs : kind == Kind::dentry ? fact.noEntries : fact.noParents) = false;
}

void Recent::forget(const Key& key) {
  std::lock_guard lock(mu_);
  young_.erase(key);
  old_.erase(key);
}

void Recent::clear() {
  std::lock_guard lock(mu_);
  young_.clear();
  old_.clear();
}

}  // namespace aquifer::meta::redis
