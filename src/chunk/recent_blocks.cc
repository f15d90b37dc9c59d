#include "chunk/recent_blocks.h"

#include "base/clock.h"

namespace aquifer::chunk {

// Buffers are destroyed after the lock is gone: giving memory back to the kernel takes time.

void RecentBlocks::drop(Items::iterator it, Items& into) {
  bytes_.fetch_sub(it->data->capacity(), std::memory_order_relaxed);
  if (it->ended) endedBytes_ -= it->data->capacity();
  index_.erase(it->block);
  into.splice(into.end(), listOf(*it), it);
}

BufferRef RecentBlocks::find(const BlockId& block) {
  if (bytes() == 0) return nullptr;
  std::lock_guard lock(mu_);
  auto it = index_.find(block);
  if (it == index_.end()) return nullptr;
  it->second->usedNanos = monotonicNanos();
  Items& list = listOf(*it->second);
  list.splice(list.end(), list, it->second);
  return it->second->data;
}

void RecentBlocks::ended(const BlockId& block) {
  Items gone;
  std::lock_guard lock(mu_);
  auto it = index_.find(block);
  if (it == index_.end() || it->second->ended) return;
  it->second->ended = true;
  endedBytes_ += it->second->data->capacity();
  ended_.splice(ended_.end(), order_, it->second);
  while (endedBytes_ > limit_ / 8 && ended_.size() > 1) drop(ended_.begin(), gone);
}

bool RecentBlocks::contains(const BlockId& block) {
  if (bytes() == 0) return false;
  std::lock_guard lock(mu_);
  return index_.count(block) > 0;
}

void RecentBlocks::add(const BlockId& block, BufferRef data) {
  Items gone;
  std::lock_guard lock(mu_);
  if (data->capacity() > limit_ || index_.count(block)) return;
  while (!index_.empty() && bytes() + data->capacity() > limit_) drop(ended_.empty() ? order_.begin() : ended_.begin(), gone);
  bytes_.fetch_add(data->capacity(), std::memory_order_relaxed);
  order_.push_back({block, std::move(data), monotonicNanos()});
  index_[block] = std::prev(order_.end());
}

void RecentBlocks::remove(const BlockId& block) {
  Items gone;
  std::lock_guard lock(mu_);
  if (auto it = index_.find(block); it != index_.end()) drop(it->second, gone);
}

void RecentBlocks::dropIdle(int64_t idleNanos) {
  if (bytes() == 0) return;
  Items gone;
  const int64_t before = monotonicNanos() - idleNanos;
  std::lock_guard lock(mu_);
  for (Items* list : {&ended_, &order_})
    for (auto it = list->begin(); it != list->end();) {
      auto next = std::next(it);
      if (it->usedNanos <= before) drop(it, gone);
      it = next;
    }
}

}  // namespace aquifer::chunk
