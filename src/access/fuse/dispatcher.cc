#include "access/fuse/dispatcher.h"

#include <sys/stat.h>

#include <array>
#include <cmath>

#include "access/fuse/errnos.h"
#include "access/fuse/server.h"
#include "base/clock.h"
#include "base/log.h"

namespace aquifer::fuse {
namespace {

constexpr uint32_t kBlockSize = 65536;  // st_blksize: what programs should read and write at once

// Time-outs travel as whole seconds and nanoseconds. Negative and absurd ones are cut.
void splitSeconds(vfs::Seconds s, uint64_t& sec, uint32_t& nsec) {
  const double v = std::min(std::max(s.count(), 0.0), 1e9);
  const double whole = std::floor(v);
  sec = static_cast<uint64_t>(whole);
  nsec = static_cast<uint32_t>((v - whole) * 1e9);
}

bool xattrsWanted(const vfs::VfsConfig& c) { return c.enableXattr || c.enableCap || c.enableSelinux || c.enableAcl; }

}  // namespace

uint32_t modeWithType(const meta::Attr& attr) {
  static constexpr uint32_t kTypes[] = {0, S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFBLK, S_IFCHR, S_IFSOCK};
  const auto type = static_cast<size_t>(attr.type);
  return (type < std::size(kTypes) ? kTypes[type] : 0u) | (attr.mode & 07777u);
}

AttrOut attrOut(vfs::Ino ino, const meta::Attr& a, uint64_t blocks512) {
  AttrOut o{};
  o.ino = ino, o.size = a.length, o.blocks = blocks512;
  o.atime = static_cast<uint64_t>(a.atime.sec), o.mtime = static_cast<uint64_t>(a.mtime.sec),
  o.ctime = static_cast<uint64_t>(a.ctime.sec);
  o.atimeNsec = a.atime.nsec, o.mtimeNsec = a.mtime.nsec, o.ctimeNsec = a.ctime.nsec;
  o.mode = modeWithType(a);
  o.nlink = a.nlink, o.uid = a.uid, o.gid = a.gid, o.rdev = a.rdev, o.blksize = kBlockSize;
  return o;
}

EntryOut entryOut(const vfs::EntryReply& e) {
  EntryOut o{};
  o.nodeId = e.ino;
  o.generation = 1;
  splitSeconds(e.entryTimeout, o.entryValid, o.entryValidNsec);
  if (e.ino == 0) return o;  // "there is no such name", to be remembered
  splitSeconds(e.attrTimeout, o.attrValid, o.attrValidNsec);
  o.attr = attrOut(e.ino, e.attr, e.blocks512);
  return o;
}

Dispatcher::Dispatcher(vfs::Vfs& vfs, const ServerConfig& config, std::function<void(uint64_t)> interrupt)
    : vfs_(vfs),
      identity_(config),
      allocateIno_(config.allocateIno),
      interrupt_(std::move(interrupt)),
      xattrs_(xattrsWanted(vfs.config())) {}

Dispatcher::Method Dispatcher::methodOf(Op op) {
  using D = Dispatcher;
  static constexpr auto kTable = [] {
    std::array<Method, 54> t{};
    auto at = [&t](Op o) -> Method& { return t[static_cast<size_t>(o)]; };
    at(Op::lookup) = &D::lookup, at(Op::forget) = &D::forget, at(Op::getattr) = &D::getattr, at(Op::setattr) = &D::setattr;
    at(Op::readlink) = &D::readlink, at(Op::symlink) = &D::symlink, at(Op::mknod) = &D::mknod, at(Op::mkdir) = &D::mkdir;
    at(Op::unlink) = &D::unlink, at(Op::rmdir) = &D::rmdir, at(Op::rename) = &D::rename, at(Op::rename2) = &D::rename2;
    at(Op::link) = &D::link, at(Op::open) = &D::open, at(Op::read) = &D::read, at(Op::write) = &D::write;
    at(Op::statfs) = &D::statfs, at(Op::release) = &D::release, at(Op::fsync) = &D::fsync, at(Op::setxattr) = &D::setxattr;
    at(Op::getxattr) = &D::getxattr, at(Op::listxattr) = &D::listxattr, at(Op::removexattr) = &D::removexattr;
    at(Op::flush) = &D::flush, at(Op::opendir) = &D::opendir, at(Op::readdir) = &D::readdir;
    at(Op::readdirplus) = &D::readdirplus, at(Op::releasedir) = &D::releasedir, at(Op::fsyncdir) = &D::fsyncdir;
    at(Op::getlk) = &D::getlk, at(Op::setlk) = &D::setlk, at(Op::setlkw) = &D::setlk, at(Op::access) = &D::access;
    at(Op::create) = &D::create, at(Op::interrupt) = &D::interrupt, at(Op::destroy) = &D::destroy, at(Op::ioctl) = &D::ioctl;
    at(Op::batchForget) = &D::batchForget, at(Op::fallocate) = &D::fallocate, at(Op::lseek) = &D::lseek;
    at(Op::copyFileRange) = &D::copyFileRange, at(Op::copyFileRange64) = &D::copyFileRange, at(Op::syncfs) = &D::syncfs;
    at(Op::tmpfile) = &D::tmpfile;
    return t;
  }();
  const auto i = static_cast<size_t>(op);
  return i < kTable.size() ? kTable[i] : nullptr;
}

void Dispatcher::handle(Call& call) {
  call.out->reset();
  const Method method = methodOf(call.in.op());
  // BMAP, POLL, STATX and whatever is newer: the kernel does without, and does not ask again.
  if (!method) return call.out->fail(ENOSYS);
  call.ctx = identity_.of(call.in.head());
  if (call.slot) {
    const bool lock = call.in.op() == Op::setlk || call.in.op() == Op::setlkw;
    if (lock)
      call.ctx.interrupted = [slot = call.slot] { return slot->interruptedNow(); };
    else
      call.ctx.interrupted = [slot = call.slot] { return slot->interruptedLate(); };
  }
  (this->*method)(call);
  if (call.out->error()) call.out->fail(documentedErrno(call.in.op(), call.out->error()));
}

// EIO says nothing to the application; the cause is said here, where it leaves. A store that is away fails every request: at most
// 20 lines in a second.
void Dispatcher::fail(Call& call, const Status& status) {
  const int errnum = status.toErrno();
  call.out->fail(errnum);
  if (errnum != EIO) return;
  const int64_t second = monotonicNanos() / 1'000'000'000;
  if (loggedSecond_.exchange(second) != second) loggedLines_ = 0;
  if (loggedLines_.fetch_add(1) >= 20) return;
  LOG_WARN("operation {} on inode {}: {} (error {})", call.in.head().opcode, call.in.node(), status.text(),
           static_cast<int>(status.code()));
}

void Dispatcher::malformed(Call& call) {
  LOG_DEBUG("malformed request: operation {}, {} bytes", call.in.head().opcode, call.in.head().len);
  call.out->fail(EINVAL);
}

void Dispatcher::putEntry(Call& call, const Result<vfs::EntryReply>& entry) {
  if (!entry) return fail(call, entry.status());
  call.out->put(entryOut(*entry));
}

bool Dispatcher::putOpen(Call& call, const vfs::OpenReply& o) {
  OpenOut out{};
  out.fh = o.fh;
  out.openFlags = (o.directIo ? kOpenDirectIo : 0u) | (o.keepCache ? kOpenKeepCache : 0u) | (o.cacheDir ? kOpenCacheDir : 0u) |
                  (o.nonSeekable ? kOpenNonSeekable : 0u);
  call.out->put(out);
  return true;
}

}  // namespace aquifer::fuse
