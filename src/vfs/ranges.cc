// Operations on ranges of a file: truncate, fallocate, copy_file_range exclude reads and writes of the inode; lseek looks.
#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <shared_mutex>

#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

// After metadata changed the slices of a range, under the inode's exclusive lock, nothing unflushed.
void VfsImpl::changedRange(Ino ino, InodeState& inode, uint64_t off, uint64_t len, uint64_t newLength) {
  if (auto w = data_->existingWriter(ino)) w->truncated(newLength);
  inode.setLength(newLength);
  data_->invalidate(ino, off, len);
  changes_.changed(ino);
}

Result<Attr> VfsImpl::truncate(const Context& ctx, Ino ino, uint64_t length, bool byHandle) {
  if (length >= meta::kMaxFileSize) return Code::fileTooBig;
  auto state = inodes_.get(ino);
  std::unique_lock lock(state->io);
  // Bytes that could not be stored are no reason to keep the file as it is.
  if (auto s = flushInode(ctx, ino); s.is(Code::interrupted)) return s;
  TRY_ASSIGN(auto attr, meta_.truncate(ctx, ino, length, byHandle));
  // Others may have changed the length since we looked, so nothing that was read before is trusted.
  changedRange(ino, *state, 0, meta::kMaxFileSize, attr.length);
  return attr;
}

Status VfsImpl::doFallocate(const Context& ctx, Ino ino, uint32_t mode, uint64_t off, uint64_t size) {
  if (isSpecialFile(ino)) return Code::notPermitted;
  if (size == 0) return Code::invalid;
  if (off >= meta::kMaxFileSize || size >= meta::kMaxFileSize - off) return Code::fileTooBig;
  auto state = inodes_.get(ino);
  std::unique_lock lock(state->io);
  TRY(flushInode(ctx, ino));
  TRY_ASSIGN(auto attr, meta_.fallocate(ctx, ino, mode, off, size));
  changedRange(ino, *state, off, size, attr.length);
  return {};
}

Status VfsImpl::fallocate(const Context& ctx, Ino ino, Handle fh, uint32_t mode, uint64_t off, uint64_t size) {
  auto o = op(ctx, OpKind::fallocate);
  auto run = [&]() -> Status { return isWritable(fh) ? doFallocate(ctx, ino, mode, off, size) : Status(Code::badHandle); };
  return o.done(run(), [&](auto&) { return fmt::format("({},{},{},{})", ino, mode, off, size); });
}

Result<uint64_t> VfsImpl::doCopy(const Context& ctx, Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size, uint32_t flags) {
  if (isSpecialFile(src) || isSpecialFile(dst)) return Code::unsupported;
  if (flags != 0) return Code::invalid;
  if (srcOff >= meta::kMaxFileSize || dstOff >= meta::kMaxFileSize || size >= meta::kMaxFileSize - dstOff) return Code::fileTooBig;
  size = std::min(size, meta::kMaxFileSize - 1 - srcOff);
  if (size == 0) return uint64_t{0};
  if (src == dst && srcOff < dstOff + size && dstOff < srcOff + size) return Code::invalid;
  auto from = inodes_.get(src), to = inodes_.get(dst);
  // Always in the order of inode numbers, so that two copies in opposite directions do not wait for each other.
  std::shared_lock<RwLock> reading(from->io, std::defer_lock);
  std::unique_lock<RwLock> writing(to->io, std::defer_lock);
  if (src < dst) reading.lock();
  writing.lock();
  if (src > dst) reading.lock();
  TRY(flushInode(ctx, src));
  TRY(flushInode(ctx, dst));
  uint64_t length = 0;
  TRY_ASSIGN(uint64_t copied, meta_.copyFileRange(ctx, src, srcOff, dst, dstOff, size, &length));
  if (copied > 0) changedRange(dst, *to, dstOff, copied, length);
  return copied;
}

Result<uint64_t> VfsImpl::copyFileRange(const Context& ctx, Ino src, Handle srcFh, uint64_t srcOff, Ino dst, Handle dstFh, uint64_t dstOff,
                                        uint64_t size, uint32_t flags) {
  auto o = op(ctx, OpKind::copyFileRange);
  auto run = [&]() -> Result<uint64_t> {
    (void)srcFh;
    return isWritable(dstFh) ? doCopy(ctx, src, srcOff, dst, dstOff, size, flags) : Result<uint64_t>(Code::badHandle);
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},{},{},{},{},{})", src, srcOff, dst, dstOff, size, flags); });
}

Result<uint64_t> VfsImpl::doSeek(const Context& ctx, Ino ino, uint64_t off, int whence) {
  if (isSpecialFile(ino) || (whence != SEEK_DATA && whence != SEEK_HOLE)) return Code::invalid;
  auto state = inodes_.get(ino);
  std::shared_lock lock(state->io);
  TRY(flushInode(ctx, ino));
  TRY_ASSIGN(auto attr, freshAttr(ctx, ino));
  return seekExtent(meta_.store(), ino, attr.length, off, whence == SEEK_DATA);
}

Result<uint64_t> VfsImpl::lseek(const Context& ctx, Ino ino, Handle, uint64_t off, int whence) {
  auto o = op(ctx, OpKind::lseek);
  return o.done(doSeek(ctx, ino, off, whence),
                [&](auto& r) { return fmt::format("({},{},{}): ({})", ino, off, whence == SEEK_DATA ? "DATA" : "HOLE", r ? *r : 0); });
}

}  // namespace aquifer::vfs
