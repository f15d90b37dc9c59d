#include "vfs/inode_state.h"

namespace aquifer::vfs {

InodeState::~InodeState() { table_->dropped(ino); }

InodeRef InodeTable::get(Ino ino) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  auto [it, added] = s.states.try_emplace(ino);
  if (added) size_.fetch_add(1, std::memory_order_relaxed);
  if (auto live = it->second.lock()) return live;
  auto made = std::make_shared<InodeState>(this, ino);
  it->second = made;
  return made;
}

InodeRef InodeTable::find(Ino ino) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  auto it = s.states.find(ino);
  return it == s.states.end() ? nullptr : it->second.lock();
}

void InodeTable::dropped(Ino ino) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  auto it = s.states.find(ino);
  // A new state may have taken the place between the last reference and this call.
  if (it != s.states.end() && it->second.expired()) {
    s.states.erase(it);
    size_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace aquifer::vfs
