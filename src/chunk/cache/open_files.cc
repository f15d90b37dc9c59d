#include "chunk/cache/open_files.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"

namespace aquifer::chunk {

// Files are closed outside the locks (the last reference goes with the local variable).

std::shared_ptr<BlockFile> OpenFiles::find(const BlockId& block) {
  auto& s = shard(block);
  std::lock_guard lock(s.mu);
  auto it = s.map.find(block);
  if (it == s.map.end()) return nullptr;
  it->second.usedNanos = monotonicNanos();
  return it->second.file;
}

void OpenFiles::add(const BlockId& block, std::shared_ptr<BlockFile> file) {
  std::shared_ptr<BlockFile> closed;
  auto& s = shard(block);
  std::lock_guard lock(s.mu);
  if (s.map.size() >= kPerShard && !s.map.count(block)) {
    auto oldest = std::min_element(s.map.begin(), s.map.end(),
                                   [](const auto& a, const auto& b) { return a.second.usedNanos < b.second.usedNanos; });
    closed = std::move(oldest->second.file);
    s.map.erase(oldest);
  }
  s.map[block] = {std::move(file), monotonicNanos()};
}

void OpenFiles::remove(const BlockId& block) {
  std::shared_ptr<BlockFile> closed;
  auto& s = shard(block);
  std::lock_guard lock(s.mu);
  if (auto it = s.map.find(block); it != s.map.end()) {
    closed = std::move(it->second.file);
    s.map.erase(it);
  }
}

void OpenFiles::dropIdle(int64_t idleNanos) {
  const int64_t before = monotonicNanos() - idleNanos;
  for (auto& s : shards_) {
    std::vector<std::shared_ptr<BlockFile>> closed;
    std::lock_guard lock(s.mu);
    for (auto it = s.map.begin(); it != s.map.end();) {
      if (it->second.usedNanos > before) {
        ++it;
        continue;
      }
      closed.push_back(std::move(it->second.file));
      it = s.map.erase(it);
    }
  }
}

}  // namespace aquifer::chunk
