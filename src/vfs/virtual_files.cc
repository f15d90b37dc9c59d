// Handles of the virtual files: `.stats` and `.config` are as they were when opened, `.accesslog` and `.control` live.
#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "base/metrics.h"
#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

// fh: the number of a handle from before a restart, 0 for a new one.
Result<FileRef> VfsImpl::openSpecial(Ino ino, uint32_t flags, Handle fh) {
  if (ino != kControlIno && (flags & O_ACCMODE) != O_RDONLY) return Code::accessDenied;
  if (ino != kLogIno && ino != kControlIno && ino != kStatsIno && ino != kConfigIno) return Code::notFound;
  auto file = std::make_shared<OpenFile>(fh ? fh : handles_.number(false), ino);
  if (ino == kLogIno) file->log = log_.open();
  if (ino == kControlIno) file->control = std::make_shared<ControlChannel>(*control_);
  if (ino == kStatsIno) file->content = config_.statsText ? config_.statsText() : metrics::statsText();
  if (ino == kConfigIno && config_.configJson) {
    file->content = config_.configJson();
    configLength_ = file->content.size();
  }
  auto mine = file;
  if (!handles_.add(file) && mine->log) log_.close(mine->log);   // another request opened it again first
  if (fh) handles_.startFrom(fh);
  return file;
}

Result<size_t> VfsImpl::readSpecial(const Context& ctx, OpenFile& file, uint64_t off, std::span<std::byte> out) {
  if (file.log) return file.log->read(out, ctx.interrupted);
  if (file.control) return file.control->read(off, out, ctx.interrupted);
  std::lock_guard lock(file.mu);
  if (off >= file.content.size()) return size_t{0};
  size_t n = std::min<size_t>(out.size(), file.content.size() - off);
  std::memcpy(out.data(), file.content.data() + off, n);
  return n;
}

}  // namespace aquifer::vfs
