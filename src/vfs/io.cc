// Reading and writing bytes.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <shared_mutex>

#include "base/log.h"
#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

namespace {
// What the metadata says of an inode that is gone or was never a file means, through a handle, that the handle is no good.
Status handleError(Status s) {
  if (s.is(Code::notFound) || s.is(Code::notPermitted) || s.is(Code::invalid)) return Code::badHandle;
  return s;
}

uint64_t pageEnd(uint64_t length) { return (length + 4095) & ~uint64_t{4095}; }
}  // namespace

Status VfsImpl::flushInode(const Context& ctx, Ino ino) {
  auto state = inodes_.find(ino);
  if (!state || !state->dirty.load(std::memory_order_acquire)) return {};
  auto s = data_->flush(ino, ctx.interrupted);
  if (s) markClean(*state);
  return handleError(std::move(s));
}

void VfsImpl::markWriting(InodeState& inode, Ino ino) {
  std::lock_guard lock(inode.dirtyMu);
  inode.writing++;
  if (inode.dirty.exchange(true)) return;
  if (auto* r = recorder_.load()) r->dirty(ino, true);
}

void VfsImpl::doneWriting(InodeState& inode) {
  std::lock_guard lock(inode.dirtyMu);
  inode.writing--;
}

void VfsImpl::markClean(InodeState& inode) {
  std::lock_guard lock(inode.dirtyMu);
  if (inode.writing > 0 || !inode.dirty) return;
  if (auto w = data_->existingWriter(inode.ino); w && w->dirty()) return;
  inode.dirty = false;
  inode.uncommitted = 0;
  if (auto* r = recorder_.load()) r->dirty(inode.ino, false);
}

// The writer first: once it is clean, its inode knows what it has committed.
uint64_t VfsImpl::lengthOf(InodeState& inode) {
  uint64_t written = 0;
  if (inode.dirty.load(std::memory_order_acquire))
    if (auto w = data_->existingWriter(inode.ino); w && w->dirty()) written = w->length();
  return std::max(written, inode.length());
}

chunk::FileReader& VfsImpl::readerOf(OpenFile& file) {
  std::lock_guard lock(file.mu);
  if (!file.reader) file.reader = data_->reader(file.ino);
  return *file.reader;
}

Result<std::shared_ptr<chunk::FileWriter>> VfsImpl::writerOf(OpenFile& file) {
  {
    std::lock_guard lock(file.mu);
    if (file.writer) return file.writer;
  }
  // The length may have been learnt long ago (or never, for an adopted handle), and appending by the kernel's offset relies on it.
  int64_t askedAt = monotonicNanos();
  TRY_ASSIGN(auto attr, meta_.getattr(Context::root(), file.ino));
  withUnflushed(file.ino, attr, askedAt);
  auto writer = data_->writer(file.ino, file.inode->length(), attr.tier);
  std::lock_guard lock(file.mu);
  if (!file.writer) file.writer = std::move(writer);
  return file.writer;
}

Result<size_t> VfsImpl::doRead(const Context& ctx, Ino ino, Handle fh, uint64_t off, std::span<std::byte> out, uint32_t flags) {
  TRY_ASSIGN(auto file, fileOf(ino, fh, flags));
  if (isSpecialFile(ino)) return readSpecial(ctx, *file, off, out);
  if (!file->inode) return Code::badHandle;
  if (off >= meta::kMaxFileSize || out.size() > meta::kMaxFileSize - off) return Code::fileTooBig;
  if (out.empty()) return size_t{0};
  auto& inode = *file->inode;
  size_t n;
  {
    std::shared_lock lock(inode.io);
    // Where appended bytes stand, and so the length, only their commit can tell. A failed write is told to those who wrote; a
    // reader gets what is stored.
    if (inode.dirty.load(std::memory_order_acquire))
      if (auto w = data_->existingWriter(ino); w && w->appending())
        if (auto s = flushInode(ctx, ino); s.is(Code::interrupted)) return s;
    uint64_t end = off + out.size(), length = lengthOf(inode);
    // Beyond the end as we know it: somebody else may have written more. Whole pages are what the kernel asks for anyway.
    if (end > length && (end > pageEnd(length) || end % 4096 != 0 || off % 4096 != 0)) {
      int64_t askedAt = monotonicNanos();
      auto attr = meta_.getattr(Context::root(), ino);
      if (!attr) return handleError(attr.status());
      withUnflushed(ino, *attr, askedAt);   // takes the length, and drops slice lists that are older
      length = lengthOf(inode);
    }
    auto r = readerOf(*file).read(off, out, length, ctx.interrupted);
    if (!r) return handleError(r.status());
    n = *r;
  }
  if (auto s = meta_.touchAtime(ctx, ino); !s) LOG_DEBUG("atime of inode {}: {}", ino, s.text());
  countReadBytes(n);
  return n;
}

Result<size_t> VfsImpl::read(const Context& ctx, Ino ino, Handle fh, uint64_t off, std::span<std::byte> out, uint32_t flags) {
  auto o = op(ctx, OpKind::read);
  return o.done(doRead(ctx, ino, fh, off, out, flags), [&](auto& r) {
    size_t n = r ? *r : 0;
    return isSpecialFile(ino) ? fmt::format("({},{},{},{}): {}", ino, out.size(), off, fh, n)
                              : fmt::format("({},{},{},{}): ({})", ino, out.size(), off, fh, n);
  });
}

Result<size_t> VfsImpl::doWrite(const Context& ctx, Ino ino, Handle fh, uint64_t off, std::span<const std::byte> data, uint32_t flags) {
  if (isSpecialFile(ino)) {
    if (ino != kControlIno) return Code::badHandle;
    TRY_ASSIGN(auto file, fileOf(ino, fh, flags));
    TRY(file->control->write(ctx, {reinterpret_cast<const char*>(data.data()), data.size()}));
    return data.size();
  }
  if (!isWritable(fh)) return Code::badHandle;
  const bool append = flags & O_APPEND;
  if (data.size() > meta::kMaxFileSize || (!append && off >= meta::kMaxFileSize - data.size())) return Code::fileTooBig;
  TRY_ASSIGN(auto file, fileOf(ino, fh, flags));
  if (!file->inode) return Code::badHandle;
  if (data.empty()) return size_t{0};
  auto& inode = *file->inode;
  std::shared_lock lock(inode.io);
  auto writer = writerOf(*file);
  if (!writer) return handleError(writer.status());
  markWriting(inode, ino);
  int64_t now = unixNanos(), last = inode.lastWrite.load();
  while (last < now && !inode.lastWrite.compare_exchange_weak(last, now)) {}
  inode.uncommitted += data.size();
  auto s = (*writer)->write(off, data, append, ctx.interrupted);
  if (s && !append) inode.growLength(off + data.size());   // where appended bytes stand, the commit will tell
  changes_.changed(ino);
  doneWriting(inode);
  if (!s) return handleError(std::move(s));
  countWrittenBytes(data.size());
  return data.size();
}

Result<size_t> VfsImpl::write(const Context& ctx, Ino ino, Handle fh, uint64_t off, std::span<const std::byte> data, uint32_t flags) {
  auto o = op(ctx, OpKind::write, ino == kControlIno);
  return o.done(doWrite(ctx, ino, fh, off, data, flags),
                [&](auto&) { return fmt::format("({},{},{},{})", ino, data.size(), off, fh); });
}

}  // namespace aquifer::vfs
