// Locks between processes: the metadata keeps them, so that other mounts see them.
#include <fmt/format.h>

#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

namespace {
char letterOf(uint32_t type) { return type == 0 ? 'R' : type == 1 ? 'W' : 'U'; }
}  // namespace

Result<meta::LockRange> VfsImpl::getlk(const Context& ctx, Ino ino, Handle fh, uint64_t owner, const meta::LockRange& want) {
  auto o = op(ctx, OpKind::getlk);
  return o.done(isSpecial(ino) ? Result<meta::LockRange>(Code::notPermitted) : meta_.getlk(ctx, ino, owner, want), [&](auto& r) {
    auto& l = r ? *r : want;
    return fmt::format("({},{},{:016X}): ({},{},{},{})", ino, fh, owner, l.start, l.end, letterOf(l.type), l.pid);
  });
}

Status VfsImpl::setlk(const Context& ctx, Ino ino, Handle fh, uint64_t owner, const meta::LockRange& range, bool block) {
  auto o = op(ctx, OpKind::setlk);
  auto run = [&]() -> Status {
    if (isSpecial(ino)) return Code::notPermitted;
    // Before the lock is there: a close that comes in between must know that there may be something to drop.
    if (range.type != static_cast<uint32_t>(meta::LockType::unlock))
      if (auto file = handles_.find(fh); file && file->inode) file->inode->plocks = true;
    return meta_.setlk(ctx, ino, owner, range, block);
  };
  return o.done(run(), [&](auto&) {
    return fmt::format("({},{},{:016X},{},{},{},{},{})", ino, fh, owner, range.start, range.end, letterOf(range.type), block, range.pid);
  });
}

Status VfsImpl::flock(const Context& ctx, Ino ino, Handle fh, uint64_t owner, meta::LockType type, bool block) {
  auto o = op(ctx, OpKind::flock);
  auto run = [&]() -> Status {
    if (isSpecial(ino)) return Code::notPermitted;
    if (type != meta::LockType::unlock)
      if (auto file = handles_.find(fh)) file->flockOwner = owner;
    return meta_.flock(ctx, ino, owner, type, block);
  };
  return o.done(run(), [&](auto&) {
    auto name = type == meta::LockType::read ? "LOCKSH" : type == meta::LockType::write ? "LOCKEX" : "UNLOCK";
    return fmt::format("({},{},{:016X},{},{})", ino, fh, owner, name, block);
  });
}

}  // namespace aquifer::vfs
