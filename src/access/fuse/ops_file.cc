// Open files: open, create, read, write, close and what else works on a handle.
#include <fcntl.h>

#include "access/fuse/dispatcher.h"

namespace aquifer::fuse {

using vfs::Ino;

void Dispatcher::open(Call& c) {
  OpenIn in;
  if (!c.in.take(in)) return malformed(c);
  // The predecessor had opened it, and the handle was adopted: the kernel gets that one, since it never saw the first answer.
  if (c.known && (c.note->flags.load() & kJournalOpened)) {
    putOpen(c, {.fh = c.note->fh.load()});
    return;
  }
  auto o = vfs_.open(c.ctx, c.in.node(), in.flags);
  if (!o) return fail(c, o.status());
  putOpen(c, *o);
}

void Dispatcher::create(Call& c) {
  CreateIn in;
  std::string_view name;
  if (!c.in.take(in) || !c.in.takeName(name)) return malformed(c);
  const Ino parent = c.in.node();
  if (c.known && (c.note->flags.load() & kJournalOpened)) {
    auto e = vfs_.lookup(c.ctx, parent, name);
    if (!e) return fail(c, e.status());
    c.out->put(entryOut(*e));
    putOpen(c, {.fh = c.note->fh.load()});
    return;
  }
  if (madeBefore(c, parent, name)) {  // made, but not opened
    auto e = vfs_.lookup(c.ctx, parent, name);
    if (!e) return fail(c, e.status());
    auto o = vfs_.open(c.ctx, e->ino, in.flags & ~static_cast<uint32_t>(O_CREAT | O_EXCL | O_TRUNC));
    if (!o) return fail(c, o.status());
    c.out->reset();
    c.out->put(entryOut(*e));
    putOpen(c, *o);
    return;
  }
  auto made = vfs_.create(c.ctx, parent, name, static_cast<uint16_t>(in.mode & 07777), static_cast<uint16_t>(in.umask & 0777),
                          in.flags, plannedIno(c));
  if (!made) return fail(c, made.status());
  c.out->put(entryOut(made->first));
  putOpen(c, made->second);
}

void Dispatcher::tmpfile(Call& c) {
  CreateIn in;
  std::string_view name;
  if (!c.in.take(in) || !c.in.takeName(name)) return malformed(c);
  if (c.known && (c.note->flags.load() & kJournalOpened)) {
    auto e = vfs_.getattr(c.ctx, c.note->ino.load(), c.note->fh.load());
    if (!e) return fail(c, e.status());
    c.out->put(entryOut(*e));
    putOpen(c, {.fh = c.note->fh.load()});
    return;
  }
  auto made =
      vfs_.tmpfile(c.ctx, c.in.node(), static_cast<uint16_t>(in.mode & 07777), static_cast<uint16_t>(in.umask & 0777), in.flags);
  if (!made) return fail(c, made.status());
  c.out->put(entryOut(made->first));
  putOpen(c, made->second);
}

void Dispatcher::read(Call& c) {
  ReadIn in;
  if (!c.in.take(in) || in.size > c.out->limit()) return malformed(c);
  auto n = vfs_.read(c.ctx, c.in.node(), in.fh, in.offset, c.out->room().first(in.size), in.flags);
  if (!n) return fail(c, n.status());
  c.out->setSize(std::min<size_t>(*n, in.size));
}

void Dispatcher::write(Call& c) {
  WriteIn in;
  std::span<const std::byte> data;
  if (!c.in.take(in) || !c.in.takeBytes(in.size, data)) return malformed(c);
  auto n = vfs_.write(c.ctx, c.in.node(), in.fh, in.offset, data, in.flags);
  if (!n) return fail(c, n.status());
  c.out->put(WriteOut{static_cast<uint32_t>(std::min<size_t>(*n, in.size)), 0});
}

void Dispatcher::flush(Call& c) {
  FlushIn in;
  if (!c.in.take(in)) return malformed(c);
  if (auto s = vfs_.flush(c.ctx, c.in.node(), in.fh, in.lockOwner); !s) fail(c, s);
}

void Dispatcher::fsync(Call& c) {
  FsyncIn in;
  if (!c.in.take(in)) return malformed(c);
  if (auto s = vfs_.fsync(c.ctx, c.in.node(), in.fh, in.flags & kFsyncDataOnly); !s) fail(c, s);
}

void Dispatcher::release(Call& c) {
  ReleaseIn in;
  if (!c.in.take(in)) return malformed(c);
  auto s = vfs_.release(c.ctx, c.in.node(), in.fh, in.flags, in.lockOwner, in.releaseFlags & kReleaseFlockUnlock);
  if (!s) fail(c, s);
}

void Dispatcher::lseek(Call& c) {
  LseekIn in;
  if (!c.in.take(in)) return malformed(c);
  auto at = vfs_.lseek(c.ctx, c.in.node(), in.fh, in.offset, static_cast<int>(in.whence));
  if (!at) return fail(c, at.status());
  c.out->put(LseekOut{*at});
}

void Dispatcher::fallocate(Call& c) {
  FallocateIn in;
  if (!c.in.take(in)) return malformed(c);
  if (auto s = vfs_.fallocate(c.ctx, c.in.node(), in.fh, in.mode, in.offset, in.length); !s) fail(c, s);
}

void Dispatcher::copyFileRange(Call& c) {
  CopyFileRangeIn in;
  if (!c.in.take(in)) return malformed(c);
  // The older opcode's reply has 32 bits for the count.
  const bool wide = c.in.op() == Op::copyFileRange64;
  const uint64_t len = wide ? in.len : std::min<uint64_t>(in.len, 0xFFFFF000u);
  auto n = vfs_.copyFileRange(c.ctx, c.in.node(), in.fhIn, in.offIn, in.nodeOut, in.fhOut, in.offOut, len,
                              static_cast<uint32_t>(in.flags));
  if (!n) return fail(c, n.status());
  if (wide)
    c.out->put(CopyFileRangeOut{*n});
  else
    c.out->put(WriteOut{static_cast<uint32_t>(*n), 0});
}

void Dispatcher::syncfs(Call& c) {
  if (auto s = vfs_.syncfs(c.ctx, c.in.node()); !s) fail(c, s);
}

}  // namespace aquifer::fuse
