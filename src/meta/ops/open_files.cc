#include "meta/ops/open_files.h"

namespace aquifer::meta {

void OpenFiles::opened(Ino ino) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  s.open[ino].count++;
}

bool OpenFiles::closed(Ino ino, bool* sustained) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  *sustained = false;
  auto it = s.open.find(ino);
  if (it == s.open.end()) return false;
  if (--it->second.count > 0) return false;
  s.open.erase(it);
  *sustained = s.sustained.erase(ino) > 0;
  return true;
}

bool OpenFiles::isOpen(Ino ino) const {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  return s.open.contains(ino);
}

void OpenFiles::buried(Ino ino, const Attr& attr) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  if (auto it = s.open.find(ino); it != s.open.end()) it->second.tomb = attr;
}

std::optional<Attr> OpenFiles::tomb(Ino ino) const {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  auto it = s.open.find(ino);
  return it == s.open.end() ? std::nullopt : it->second.tomb;
}

bool OpenFiles::changeTomb(Ino ino, const Attr& attr) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  auto it = s.open.find(ino);
  if (it == s.open.end() || !it->second.tomb) return false;
  it->second.tomb = attr;
  return true;
}

bool OpenFiles::sustain(Ino ino) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  if (!s.open.contains(ino)) return false;
  s.sustained.insert(ino);
  return true;
}

void OpenFiles::inheritSustained(Ino ino) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  s.sustained.insert(ino);
}

void OpenFiles::revive(Ino ino) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  s.sustained.erase(ino);
}

}  // namespace aquifer::meta
