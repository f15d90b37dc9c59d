#include "vfs/handles.h"

namespace aquifer::vfs {

bool Handles::add(FileRef& file) {
  auto& s = shard(file->fh);
  std::unique_lock lock(s.mu);
  auto [it, added] = s.files.try_emplace(file->fh, file);
  if (added) size_.fetch_add(1, std::memory_order_relaxed);
  else file = it->second;
  return added;
}

FileRef Handles::find(Handle fh) const {
  auto& s = shard(fh);
  std::shared_lock lock(s.mu);
  auto it = s.files.find(fh);
  return it == s.files.end() ? nullptr : it->second;
}

FileRef Handles::remove(Handle fh) {
  auto& s = shard(fh);
  std::unique_lock lock(s.mu);
  auto it = s.files.find(fh);
  if (it == s.files.end()) return nullptr;
  auto file = std::move(it->second);
  s.files.erase(it);
  size_.fetch_sub(1, std::memory_order_relaxed);
  return file;
}

std::vector<FileRef> Handles::takeAll() {
  std::vector<FileRef> all;
  for (auto& s : shards_) {
    std::unique_lock lock(s.mu);
    for (auto& [fh, file] : s.files) all.push_back(std::move(file));
    size_.fetch_sub(s.files.size(), std::memory_order_relaxed);
    s.files.clear();
  }
  return all;
}

}  // namespace aquifer::vfs
