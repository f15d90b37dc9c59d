#include "chunk/chunk_views.h"

#include <algorithm>

#include "meta/model/slices.h"

namespace aquifer::chunk {

namespace {

// An empty list has a cost as well.
size_t cost(const ChunkView& view) { return view.size() + 2; }

}  // namespace

void ChunkViews::drop(Shard& s, std::map<Key, Item>::iterator it) {
  s.pieces -= cost(*it->second.view);
  s.order.erase(it->second.place);
  s.items.erase(it);
}

Result<std::shared_ptr<const ChunkView>> ChunkViews::get(meta::Ino ino, uint32_t index) {
  auto& s = shard(ino);
  const Key key(ino, index);
  uint64_t generation;
  {
    std::lock_guard lock(s.mu);
    if (auto it = s.items.find(key); it != s.items.end()) {
      s.order.splice(s.order.end(), s.order, it->second.place);
      return it->second.view;
    }
    generation = s.generation;
  }
  TRY_ASSIGN(auto records, load_(ino, index));
  std::shared_ptr<const ChunkView> view = std::make_shared<const ChunkView>(meta::paint(records));
  std::lock_guard lock(s.mu);
  if (generation != s.generation || s.items.count(key)) return view;
  s.order.push_back(key);
  s.items[key] = {view, std::prev(s.order.end())};
  s.pieces += cost(*view);
  while (s.pieces > kPiecesPerShard && s.items.size() > 1) drop(s, s.items.find(s.order.front()));
  return view;
}

void ChunkViews::invalidate(meta::Ino ino, uint64_t off, uint64_t len) {
  if (len == 0) return;
  const uint64_t last = std::min((off + std::min(len - 1, UINT64_MAX - off)) >> meta::kChunkBits, uint64_t{UINT32_MAX});
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  ++s.generation;
  for (auto it = s.items.lower_bound(Key(ino, static_cast<uint32_t>(off >> meta::kChunkBits)));
       it != s.items.end() && it->first.first == ino && it->first.second <= last;) {
    auto next = std::next(it);
    drop(s, it);
    it = next;
  }
}

}  // namespace aquifer::chunk
