#include "vfs/seen_attrs.h"

namespace aquifer::vfs {

SeenAttrs::Entry& SeenAttrs::entry(Shard& s, meta::Ino ino) {
  auto it = s.entries.find(ino);
  if (it != s.entries.end()) return it->second;
  // An arbitrary victim will do: what is lost is a chance to keep pages.
  if (s.entries.size() >= kPerShard) s.entries.erase(s.entries.begin());
  return s.entries[ino];
}

void SeenAttrs::told(meta::Ino ino, const meta::Attr& a) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  entry(s, ino).told = {a.mtime, a.ctime, a.length, true};
}

SeenAttrs::Verdict SeenAttrs::opened(meta::Ino ino, const meta::Attr& a) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  auto& e = entry(s, ino);
  Verdict v;
  v.keepPages = e.opened.set && e.opened.mtime == a.mtime && e.opened.length == a.length;
  v.sameSlices = v.keepPages && e.opened.ctime == a.ctime;
  v.toldSame = e.told.set && e.told.mtime == a.mtime && e.told.ctime == a.ctime && e.told.length == a.length;
  e.opened = {a.mtime, a.ctime, a.length, true};
  return v;
}

void SeenAttrs::forget(meta::Ino ino) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  s.entries.erase(ino);
}

}  // namespace aquifer::vfs
