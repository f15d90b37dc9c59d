// Names: lookup, and what makes, removes and moves them.
#include <fmt/format.h>
#include <sys/stat.h>

#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

namespace {
meta::FileType typeOf(uint32_t mode) {
  using meta::FileType;
  switch (mode & S_IFMT) {
    case 0:
    case S_IFREG: return FileType::regular;
    case S_IFDIR: return FileType::directory;
    case S_IFLNK: return FileType::symlink;
    case S_IFIFO: return FileType::fifo;
    case S_IFBLK: return FileType::blockDevice;
    case S_IFCHR: return FileType::charDevice;
    case S_IFSOCK: return FileType::socket;
    default: return FileType::none;
  }
}
}  // namespace

Status VfsImpl::checkNewName(Ino parent, std::string_view name) const {
  if (name.size() > meta::kMaxName) return Code::nameTooLong;
  if (special_.reserved(parent, name)) return Code::exists;
  if (isSpecialFile(parent)) return Code::notDirectory;
  return config_.readOnly ? Status(Code::readOnly) : Status();
}

Status VfsImpl::checkOldName(Ino parent, std::string_view name) const {
  if (name.size() > meta::kMaxName) return Code::nameTooLong;
  if (special_.reserved(parent, name)) return Code::notPermitted;
  if (isSpecialFile(parent)) return Code::notDirectory;
  return config_.readOnly ? Status(Code::readOnly) : Status();
}

Result<EntryReply> VfsImpl::lookup(const Context& ctx, Ino parent, std::string_view name) {
  Ino special = special_.find(parent, name);
  auto o = op(ctx, OpKind::lookup, isSpecial(special));
  auto run = [&]() -> Result<EntryReply> {
    if (name.size() > meta::kMaxName) return Code::nameTooLong;
    if (isSpecialFile(special)) return specialReply(special);
    if (isSpecialFile(parent)) return Code::notDirectory;
    if (special == meta::kTrashIno) {
      TRY_ASSIGN(auto attr, trashAttr(ctx));
      return reply(special, attr, 0);
    }
    // Where the trash goes by another name or is not shown, its own name leads nowhere.
    if (parent == meta::kRootIno && name == meta::kTrashName) return Code::notFound;
    int64_t askedAt = monotonicNanos();
    auto found = meta_.lookup(ctx, parent, name);
    if (!found) {
      if (found.is(Code::notFound)) return noSuchName(parent, name, unlessChanging(parent, askedAt));
      return found.status();
    }
    ghosts_.drop(found->ino);   // it has a name (again)
    if (meta::isTrash(parent)) trashSeen_.add(found->ino);
    return settle(ctx, parent, name, *found, askedAt, unlessChanging(parent, askedAt));
  };
  return o.done(run(), [&](auto& r) { return fmt::format("({},{}):{}", parent, logName(name), logged(r)); });
}

void VfsImpl::forget(Ino ino, uint64_t) {
  seen_.forget(ino);
  ghosts_.drop(ino);
}

Result<std::string> VfsImpl::readlink(const Context& ctx, Ino ino) {
  auto o = op(ctx, OpKind::readlink);
  return o.done(isSpecialFile(ino) ? Result<std::string>(Code::invalid) : meta_.readlink(ctx, ino),
                [&](auto& r) { return fmt::format("({}): ({})", ino, r ? logName(*r) : ""); });
}

Result<EntryReply> VfsImpl::mknod(const Context& ctx, Ino parent, std::string_view name, uint32_t mode, uint16_t umask, uint32_t rdev,
                                  Ino wantIno) {
  auto o = op(ctx, OpKind::mknod);
  auto run = [&]() -> Result<EntryReply> {
    TRY(checkNewName(parent, name));
    auto type = typeOf(mode);
    if (type == meta::FileType::none) return Code::invalid;
    int64_t askedAt = monotonicNanos();
    TRY_ASSIGN(auto entry, meta_.mknod(ctx, parent, name, type, mode & 07777, umaskOf(umask), rdev, {}, nullptr, wantIno));
    changes_.changed(parent);
    return settle(ctx, parent, name, entry, askedAt, askedAt);
  };
  return o.done(run(), [&](auto& r) {
    return fmt::format("({},{},{}:0{:04o},0x{:08X}):{}", parent, logName(name), modeString(mode), mode, rdev, logged(r));
  });
}

Result<EntryReply> VfsImpl::mkdir(const Context& ctx, Ino parent, std::string_view name, uint16_t mode, uint16_t umask, Ino wantIno) {
  auto o = op(ctx, OpKind::mkdir);
  auto run = [&]() -> Result<EntryReply> {
    TRY(checkNewName(parent, name));
    int64_t askedAt = monotonicNanos();
    TRY_ASSIGN(auto entry, meta_.mknod(ctx, parent, name, meta::FileType::directory, mode & 07777, umaskOf(umask), 0, {}, nullptr, wantIno));
    changes_.changed(parent);
    return named(parent, name, askedAt, reply(entry.ino, entry.attr, askedAt));
  };
  return o.done(run(), [&](auto& r) {
    return fmt::format("({},{},{}:0{:04o}):{}", parent, logName(name), modeString(mode), mode, logged(r));
  });
}

Result<EntryReply> VfsImpl::symlink(const Context& ctx, Ino parent, std::string_view name, std::string_view target, Ino wantIno) {
  auto o = op(ctx, OpKind::symlink);
  auto run = [&]() -> Result<EntryReply> {
    TRY(checkNewName(parent, name));
    if (target.size() >= meta::kMaxSymlink) return Code::nameTooLong;
    int64_t askedAt = monotonicNanos();
    TRY_ASSIGN(auto entry, meta_.mknod(ctx, parent, name, meta::FileType::symlink, 0777, 0, 0, target, nullptr, wantIno));
    changes_.changed(parent);
    return named(parent, name, askedAt, reply(entry.ino, entry.attr, askedAt));
  };
  return o.done(run(), [&](auto& r) { return fmt::format("({},{},{}):{}", parent, logName(name), logName(target), logged(r)); });
}

Status VfsImpl::unlink(const Context& ctx, Ino parent, std::string_view name) {
  auto o = op(ctx, OpKind::unlink);
  auto run = [&]() -> Status {
    TRY(checkOldName(parent, name));
    TRY_ASSIGN(auto gone, meta_.unlink(ctx, parent, name));
    coherence_.removed(parent, name);
    changes_.changed(parent);
    changes_.changed(gone.ino);
    return {};
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},{})", parent, logName(name)); });
}

Status VfsImpl::rmdir(const Context& ctx, Ino parent, std::string_view name) {
  auto o = op(ctx, OpKind::rmdir);
  auto run = [&]() -> Status {
    TRY(checkOldName(parent, name));
    TRY_ASSIGN(auto gone, meta_.rmdir(ctx, parent, name));
    coherence_.removed(parent, name);
    ghosts_.add(gone.ino, gone.attr);
    changes_.changed(parent);
    changes_.changed(gone.ino);
    return {};
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},{})", parent, logName(name)); });
}

Status VfsImpl::rename(const Context& ctx, Ino parent, std::string_view name, Ino newParent, std::string_view newName, uint32_t flags) {
  auto o = op(ctx, OpKind::rename);
  auto run = [&]() -> Status {
    TRY(checkOldName(parent, name));
    TRY(checkOldName(newParent, newName));
    TRY_ASSIGN(auto r, meta_.rename(ctx, parent, name, newParent, newName, flags));
    coherence_.renamed(parent, name, newParent, newName, flags & meta::kRenameExchange);
    changes_.changed(parent);
    changes_.changed(newParent);
    changes_.changed(r.moved.ino);
    if (r.replaced) {
      changes_.changed(r.replaced);
      // Somebody may stand in the directory that was replaced; its attributes are still there if it went to the trash.
      if (r.moved.attr.isDir() && !(flags & meta::kRenameExchange))
        if (auto attr = meta_.getattr(Context::root(), r.replaced); attr && attr->isDir()) ghosts_.add(r.replaced, *attr);
    }
    return {};
  };
  return o.done(run(), [&](auto&) {
    return fmt::format("({},{},{},{},{})", parent, logName(name), newParent, logName(newName), flags);
  });
}

Result<EntryReply> VfsImpl::link(const Context& ctx, Ino ino, Ino newParent, std::string_view newName) {
  auto o = op(ctx, OpKind::link);
  auto run = [&]() -> Result<EntryReply> {
    TRY(checkNewName(newParent, newName));
    if (isSpecial(ino)) return Code::notPermitted;
    int64_t askedAt = monotonicNanos();
    TRY_ASSIGN(auto entry, meta_.link(ctx, ino, newParent, newName));
    changes_.changed(newParent);
    auto r = settle(ctx, newParent, newName, entry, askedAt, askedAt);
    changes_.changed(ino);
    return r;
  };
  return o.done(run(), [&](auto& r) { return fmt::format("({},{},{}):{}", ino, newParent, logName(newName), logged(r)); });
}

}  // namespace aquifer::vfs
