#include "vfs/ghosts.h"

#include "base/clock.h"

namespace aquifer::vfs {

namespace {
meta::Time now() {
  int64_t n = unixNanos();
  return {n / 1'000'000'000, static_cast<uint32_t>(n % 1'000'000'000)};
}
}  // namespace

void Ghosts::add(meta::Ino ino, meta::Attr attr) {
  attr.nlink = 0;
  std::lock_guard lock(mu_);
  if (attrs_.size() >= kMax) attrs_.erase(attrs_.begin());
  attrs_[ino] = attr;
  count_.store(attrs_.size(), std::memory_order_release);
}

void Ghosts::drop(meta::Ino ino) {
  if (count_.load(std::memory_order_acquire) == 0) return;
  std::lock_guard lock(mu_);
  attrs_.erase(ino);
  count_.store(attrs_.size(), std::memory_order_release);
}

std::optional<meta::Attr> Ghosts::find(meta::Ino ino) const {
  if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
  std::lock_guard lock(mu_);
  auto it = attrs_.find(ino);
  return it == attrs_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<meta::Attr> Ghosts::change(meta::Ino ino, const meta::SetAttr& set) {
  if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
  std::lock_guard lock(mu_);
  auto it = attrs_.find(ino);
  if (it == attrs_.end()) return std::nullopt;
  auto& a = it->second;
  if (set.mask & meta::kSetMode) a.mode = set.mode & 07777;
  if (set.mask & meta::kSetUid) a.uid = set.uid;
  if (set.mask & meta::kSetGid) a.gid = set.gid;
  if (set.mask & meta::kSetAtime) a.atime = set.atime;
  if (set.mask & meta::kSetMtime) a.mtime = set.mtime;
  if (set.mask & meta::kSetAtimeNow) a.atime = now();
  if (set.mask & meta::kSetMtimeNow) a.mtime = now();
  a.ctime = now();
  return a;
}

}  // namespace aquifer::vfs
