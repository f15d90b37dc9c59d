#include "vfs/grants.h"

namespace aquifer::vfs {

namespace {
constexpr int64_t kSweepEvery = 1'000'000'000;   // of a full table
}

bool Grants::hasRoom(size_t more, size_t others, int64_t now) {
  auto fits = [&] { return size() + others + more <= limit_; };
  if (fits()) return true;
  if (now - sweptAt_ < kSweepEvery) return false;
  sweep(now);
  return fits();
}

void Grants::sweep(int64_t now) {
  sweptAt_ = now;
  std::erase_if(attrs_, [&](auto& a) { return a.second.until <= now; });
  for (auto dir = dirs_.begin(); dir != dirs_.end();) {
    names_ -= std::erase_if(dir->second, [&](auto& n) { return n.second.until <= now; });
    dir = dir->second.empty() ? dirs_.erase(dir) : std::next(dir);
  }
}

void Grants::addName(Ino parent, std::string_view name, int64_t now, int64_t until) {
  auto& names = dirs_[parent];
  if (auto it = names.find(name); it != names.end()) {
    it->second = {now, until};
    return;
  }
  names.emplace(std::string(name), Term{now, until});
  ++names_;
}

void Grants::addAttr(Ino ino, int64_t now, int64_t until) { attrs_[ino] = {now, until}; }

void Grants::dropName(Ino parent, std::string_view name, int64_t before) {
  auto dir = dirs_.find(parent);
  if (dir == dirs_.end()) return;
  auto it = dir->second.find(name);
  if (it == dir->second.end() || it->second.at > before) return;
  dir->second.erase(it);
  --names_;
  if (dir->second.empty()) dirs_.erase(dir);
}

const Grants::Term* Grants::findName(Ino parent, std::string_view name) const {
  auto dir = dirs_.find(parent);
  if (dir == dirs_.end()) return nullptr;
  auto it = dir->second.find(name);
  return it == dir->second.end() ? nullptr : &it->second;
}

void Grants::moveName(Ino parent, std::string_view name, Ino newParent, std::string_view newName, bool exchange, int64_t now) {
  auto untilOf = [&](const Term* term) { return term ? term->until : 0; };
  const int64_t moved = untilOf(findName(parent, name)), back = exchange ? untilOf(findName(newParent, newName)) : 0;
  // As young as can be: the kernel has not moved it yet. The old one stays, for an answer that may be on its way to it.
  if (moved > now) addName(newParent, newName, now, moved);
  if (back > now) addName(parent, name, now, back);
}

void Grants::takeAll(int64_t now, std::vector<Revoked>& out) {
  out.reserve(out.size() + size());
  for (auto& [parent, names] : dirs_)
    for (auto& [name, term] : names)
      if (term.until > now) out.push_back({parent, name, term.at});
  for (auto& [ino, term] : attrs_)
    if (term.until > now) out.push_back({ino, {}, term.at});
  dirs_.clear();
  attrs_.clear();
  names_ = 0;
}

void Grants::takeName(Ino parent, std::string_view name, int64_t now, std::vector<Revoked>& out) {
  auto dir = dirs_.find(parent);
  if (dir == dirs_.end()) return;
  auto it = dir->second.find(name);
  if (it == dir->second.end()) return;
  if (it->second.until > now) out.push_back({parent, std::string(name), it->second.at});
  dropName(parent, name);
}

void Grants::takeNames(Ino parent, int64_t now, std::vector<Revoked>& out) {
  auto dir = dirs_.find(parent);
  if (dir == dirs_.end()) return;
  for (auto& [name, term] : dir->second)
    if (term.until > now) out.push_back({parent, name, term.at});
  names_ -= dir->second.size();
  dirs_.erase(dir);
}

void Grants::takeAttr(Ino ino, int64_t now, std::vector<Revoked>& out) {
  auto it = attrs_.find(ino);
  if (it == attrs_.end()) return;
  if (it->second.until > now) out.push_back({ino, {}, it->second.at});
  attrs_.erase(it);
}

}  // namespace aquifer::vfs
