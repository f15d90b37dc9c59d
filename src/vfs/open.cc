// Opening and closing: handles, creation, O_TRUNC, O_TMPFILE, handles that a former process opened.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/uuid.h"
#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

namespace {
bool wantsWrite(uint32_t flags) { return (flags & O_ACCMODE) != O_RDONLY; }
}  // namespace

Result<FileRef> VfsImpl::newFile(Ino ino, uint32_t flags, const Attr& attr) {
  if (config_.handleLimit > 0 && handles_.size() >= static_cast<size_t>(config_.handleLimit)) return static_cast<Code>(EMFILE);
  auto file = std::make_shared<OpenFile>(handles_.number(wantsWrite(flags)), ino);
  file->inode = inodes_.get(ino);
  file->tier = attr.tier;
  file->counted = true;
  handles_.add(file);
  if (auto* r = recorder_.load()) r->opened(file->fh, ino, flags);
  return file;
}

// The kernel trusts a name for a second; meanwhile another mount may have removed or replaced the file. On ESTALE it looks the name up
// again and opens what is there now (or creates it). Whoever reached the file through the trash itself gets the real answer.
bool VfsImpl::replacedElsewhere(const Context& ctx, Ino ino, const Status& why) {
  if (why.is(Code::notFound)) return true;
  if (!why.is(Code::notPermitted)) return false;
  auto attr = meta_.getattr(ctx, ino);
  return attr && meta::isTrash(attr->parent) && !trashSeen_.has(ino);
}

Result<OpenReply> VfsImpl::doOpen(const Context& ctx, Ino ino, uint32_t flags) {
  if (isSpecialFile(ino)) {
    TRY_ASSIGN(auto file, openSpecial(ino, flags, 0));
    return OpenReply{.fh = file->fh, .directIo = true};
  }
  if (wantsWrite(flags) && config_.readOnly) return Code::readOnly;
  // The state first: from here on a commit of ours leaves its length there.
  auto state = inodes_.get(ino);
  int64_t askedAt = monotonicNanos();
  auto opened = meta_.open(ctx, ino, flags);
  if (!opened) return replacedElsewhere(ctx, ino, opened.status()) ? Status(Code::stale) : opened.status();
  auto attr = *std::move(opened);
  auto closeAgain = [&](Status s) {
    if (auto closed = meta_.close(ino); !closed) LOG_WARN("close inode {}: {}", ino, closed.text());
    return s;
  };
  // Also when there is nothing to cut: the times change, and a file that is empty in the metadata may have unwritten bytes here.
  if ((flags & O_TRUNC) && wantsWrite(flags)) {
    auto cut = truncate(ctx, ino, 0, true);
    if (!cut) return closeAgain(cut.status());
    attr = *cut;
  }
  auto file = newFile(ino, flags, attr);
  if (!file) return closeAgain(file.status());
  attr = withUnflushed(ino, attr, askedAt);
  auto seen = seen_.opened(ino, attr);
  if (!seen.sameSlices) data_->invalidate(ino, 0, meta::kMaxFileSize);
  // Attributes that the kernel still trusts may be older than what open has just learnt: it must not cut a read at an old length.
  // Attributes alone need no page, so the kernel can be told from here without waiting for itself.
  if (!seen.toldSame)
    if (auto* n = notifier_.load()) n->invalidateInode(ino, -1, 0);
  return OpenReply{.fh = (*file)->fh, .keepCache = seen.keepPages};
}

Result<OpenReply> VfsImpl::open(const Context& ctx, Ino ino, uint32_t flags) {
  auto o = op(ctx, OpKind::open);
  return o.done(doOpen(ctx, ino, flags), [&](auto& r) {
    return r ? fmt::format("({},0x{:X}) [fh:{}]", ino, flags, r->fh) : fmt::format("({},0x{:X})", ino, flags);
  });
}

// A file that this very call has made: whoever creates a file may open it as asked, whatever its mode, and its attributes are known.
Result<VfsImpl::Created> VfsImpl::openNew(Ino parent, std::string_view name, const meta::Entry& entry, uint32_t flags, int64_t askedAt) {
  meta_.adoptOpen(entry.ino);
  auto file = newFile(entry.ino, flags, entry.attr);
  if (!file) {
    if (auto closed = meta_.close(entry.ino); !closed) LOG_WARN("close inode {}: {}", entry.ino, closed.text());
    return file.status();
  }
  const Attr attr = withUnflushed(entry.ino, entry.attr, 0);
  seen_.opened(entry.ino, attr);
  return Created{named(parent, name, askedAt, reply(entry.ino, attr, askedAt)), OpenReply{.fh = (*file)->fh}};
}

// Made by somebody else since the kernel looked. What is not a plain file that the caller may open, the kernel should look up and
// judge itself: on ESTALE it starts over.
Result<VfsImpl::Created> VfsImpl::openExisting(const Context& ctx, Ino parent, std::string_view name, const meta::Entry& entry, uint32_t flags,
                                                 int64_t askedAt) {
  if (flags & O_EXCL) return Code::exists;
  if (!entry.attr.isRegular()) return Code::stale;
  Context opener = ctx;
  opener.checkPermission = true;
  auto opened = doOpen(opener, entry.ino, flags);
  if (!opened) return opened.is(Code::accessDenied) ? Status(Code::stale) : opened.status();
  int64_t attrAt = 0;
  auto attr = freshAttr(ctx, entry.ino, &attrAt);
  if (!attr) return Created{reply(entry.ino, entry.attr, 0), *opened};
  return Created{named(parent, name, askedAt, reply(entry.ino, *attr, attrAt)), *opened};
}

Result<VfsImpl::Created> VfsImpl::doCreate(const Context& ctx, Ino parent, std::string_view name, uint16_t mode, uint16_t umask,
                                           uint32_t flags, Ino wantIno) {
  TRY(checkNewName(parent, name));
  meta::Entry existing;
  int64_t askedAt = monotonicNanos();
  auto made = meta_.mknod(ctx, parent, name, meta::FileType::regular, mode & 07777, umaskOf(umask), 0, {}, &existing, wantIno);
  if (!made && !(made.is(Code::exists) && existing.ino)) return made.status();
  if (!made) return openExisting(ctx, parent, name, existing, flags, askedAt);
  changes_.changed(parent);
  return openNew(parent, name, *made, flags, askedAt);
}

Result<VfsImpl::Created> VfsImpl::create(const Context& ctx, Ino parent, std::string_view name, uint16_t mode, uint16_t umask, uint32_t flags,
                                         Ino wantIno) {
  auto o = op(ctx, OpKind::create);
  return o.done(doCreate(ctx, parent, name, mode, umask, flags, wantIno), [&](auto& r) {
    auto full = S_IFREG | mode;
    auto t = fmt::format("({},{},{}:0{:04o}):", parent, logName(name), modeString(full), full);
    return r ? fmt::format("{}{} [fh:{}]", t, logEntry(r->first.ino, r->first.attr), r->second.fh) : t;
  });
}

Result<VfsImpl::Created> VfsImpl::doTmpfile(const Context& ctx, Ino parent, uint16_t mode, uint16_t umask, uint32_t flags) {
  auto name = fmt::format("tmpfile_{}", randomUuid());
  TRY_ASSIGN(auto created, doCreate(ctx, parent, name, mode, umask, (flags & ~uint32_t{O_TMPFILE}) | O_EXCL, 0));
  // The handle keeps it alive without a name.
  auto gone = meta_.unlink(Context::root(), parent, name, true);
  changes_.changed(parent);
  changes_.changed(created.first.ino);
  coherence_.changedHere(parent);   // the kernel thinks that nothing has happened to it
  if (!gone) {
    if (auto s = release(ctx, created.first.ino, created.second.fh, flags, 0, false); !s) LOG_WARN("release of {}: {}", name, s.text());
    return gone.status();
  }
  created.first.attr.nlink = 0;
  return created;
}

Result<VfsImpl::Created> VfsImpl::tmpfile(const Context& ctx, Ino parent, uint16_t mode, uint16_t umask, uint32_t flags) {
  auto o = op(ctx, OpKind::tmpfile);
  return o.done(doTmpfile(ctx, parent, mode, umask, flags), [&](auto& r) {
    auto full = S_IFREG | mode;
    auto t = fmt::format("({},{}:0{:04o}):", parent, modeString(full), full);
    return r ? fmt::format("{}{} [fh:{}]", t, logEntry(r->first.ino, r->first.attr), r->second.fh) : t;
  });
}

void VfsImpl::adoptHandle(Handle fh, Ino ino, uint32_t flags, bool lost) {
  handles_.startFrom(fh);
  auto file = std::make_shared<OpenFile>(fh, ino);
  file->lost = lost;
  if (!(flags & O_DIRECTORY) && !isSpecial(ino)) {
    file->inode = inodes_.get(ino);
    file->inode->plocks = true;   // not known: close asks
    file->counted = true;
    meta_.adoptOpen(ino);
  }
  if (!handles_.add(file)) return;
  if (auto* r = recorder_.load()) r->opened(fh, ino, flags);
}

Result<FileRef> VfsImpl::fileOf(Ino ino, Handle fh, uint32_t flags) {
  if (auto file = handles_.find(fh)) {
    if (file->ino != ino) return Code::badHandle;
    return file;
  }
  if (isSpecialFile(ino)) return openSpecial(ino, flags, fh);
  auto attr = meta_.getattr(Context::root(), ino);
  if (!attr) return attr.is(Code::notFound) ? Status(Code::badHandle) : attr.status();
  if (!attr->isRegular()) return Code::badHandle;
  adoptHandle(fh, ino, flags, false);
  auto file = handles_.find(fh);
  if (!file) return Code::badHandle;
  return file;
}

Status VfsImpl::flushFile(const Context& ctx, OpenFile& file) {
  if (!file.inode || !isWritable(file.fh)) return {};
  auto s = flushInode(ctx, file.ino);
  if (s && file.lost) s = Code::io;
  return s;
}

Status VfsImpl::flush(const Context& ctx, Ino ino, Handle fh, uint64_t lockOwner) {
  auto o = op(ctx, OpKind::flush);
  auto run = [&]() -> Status {
    auto file = handles_.find(fh);
    if (!file || file->ino != ino) return {};   // from before a restart, and nothing was written since
    if (file->control) file->control->cancel();
    auto s = flushFile(ctx, *file);
    // Any close of a process drops all its record locks on the file.
    if (file->inode && lockOwner && file->inode->plocks) {
      meta::LockRange all{static_cast<uint32_t>(meta::LockType::unlock), ctx.pid, 0, INT64_MAX};
      if (auto u = meta_.setlk(ctx, ino, lockOwner, all, false); s && !u && !u.is(Code::notFound)) s = u;
    }
    return s;
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},{},{:016X})", ino, fh, lockOwner); });
}

Status VfsImpl::fsync(const Context& ctx, Ino ino, Handle fh, bool dataOnly) {
  auto o = op(ctx, OpKind::fsync);
  auto run = [&]() -> Status {
    auto file = handles_.find(fh);
    if (file && file->ino == ino) TRY(flushFile(ctx, *file));
    if (isSpecialFile(ino)) return {};
    return meta_.store().sync();
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},{})", ino, dataOnly ? 1 : 0); });
}

void VfsImpl::closeFile(OpenFile& file) {
  if (file.log) log_.close(file.log);
  if (file.control) file.control->cancel();
  {
    std::lock_guard lock(file.mu);
    file.reader.reset();
    file.writer.reset();
  }
  if (file.counted)
    if (auto s = meta_.close(file.ino); !s) LOG_WARN("close inode {}: {}", file.ino, s.text());
}

Status VfsImpl::release(const Context& ctx, Ino ino, Handle fh, uint32_t, uint64_t lockOwner, bool flockRelease) {
  auto o = op(ctx, OpKind::release);
  auto run = [&]() -> Status {
    auto file = handles_.remove(fh);
    if (!file) return {};
    Status s;
    if (file->inode) {
      s = flushFile(ctx, *file);
      uint64_t flockOwner = flockRelease ? lockOwner : file->flockOwner.load();
      if (flockOwner)
        if (auto u = meta_.flock(ctx, ino, flockOwner, meta::LockType::unlock, false); !u && !u.is(Code::notFound))
          LOG_WARN("unlock inode {}: {}", ino, u.text());
      if (auto* r = recorder_.load()) r->closed(fh);
    }
    closeFile(*file);
    return s;
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},{})", ino, fh); });
}

}  // namespace aquifer::vfs
