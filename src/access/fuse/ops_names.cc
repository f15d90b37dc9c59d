// Names: lookup, make, remove, move. A resent request (call.known) is first checked against what its predecessor noted.
#include "access/fuse/dispatcher.h"

namespace aquifer::fuse {

using vfs::Ino;

void Dispatcher::lookup(Call& c) {
  std::string_view name;
  if (!c.in.takeName(name)) return malformed(c);
  if (name != "." && name != "..") return putEntry(c, vfs_.lookup(c.ctx, c.in.node(), name));
  // Asked by the kernel's NFS export, for inodes that it has forgotten.
  auto self = vfs_.getattr(c.ctx, c.in.node(), 0);
  if (!self || name == ".") return putEntry(c, self);
  const Ino up = c.in.node() == kRootNode || self->attr.parent == 0 ? kRootNode : self->attr.parent;
  putEntry(c, vfs_.getattr(c.ctx, up, 0));
}

Ino Dispatcher::plannedIno(Call& c) {
  if (c.known && c.note->ino.load() != 0) return c.note->ino.load();
  Ino ino = 0;
  if (allocateIno_) {
    if (auto got = allocateIno_()) ino = *got;  // without one the create still works, only its repetition is guesswork
  }
  c.note->ino.store(ino);
  c.note->flags.fetch_or(kJournalStarted);
  return ino;
}

bool Dispatcher::madeBefore(Call& c, Ino parent, std::string_view name) {
  if (!c.known || !(c.note->flags.load() & kJournalStarted)) return false;
  const Ino planned = c.note->ino.load();
  if (planned == 0) return false;
  auto found = vfs_.lookup(c.ctx, parent, name);
  if (!found || found->ino != planned) return false;
  putEntry(c, found);
  return true;
}

bool Dispatcher::goneBefore(Call& c, Ino parent, std::string_view name) {
  if (c.known && (c.note->flags.load() & kJournalIntent)) {
    auto found = vfs_.lookup(c.ctx, parent, name);
    const bool absent = found ? found->ino == 0 : found.is(Code::notFound);
    if (absent || (found && found->ino != c.note->ino.load())) return true;
  }
  c.ctx.intent = [note = c.note](uint64_t ino) {
    note->ino.store(ino);
    note->flags.fetch_or(kJournalIntent);
  };
  return false;
}

void Dispatcher::mknod(Call& c) {
  MknodIn in;
  std::string_view name;
  if (!c.in.take(in) || !c.in.takeName(name)) return malformed(c);
  if (madeBefore(c, c.in.node(), name)) return;
  putEntry(c, vfs_.mknod(c.ctx, c.in.node(), name, in.mode, static_cast<uint16_t>(in.umask & 0777), in.rdev, plannedIno(c)));
}

void Dispatcher::mkdir(Call& c) {
  MkdirIn in;
  std::string_view name;
  if (!c.in.take(in) || !c.in.takeName(name)) return malformed(c);
  if (madeBefore(c, c.in.node(), name)) return;
  putEntry(c, vfs_.mkdir(c.ctx, c.in.node(), name, static_cast<uint16_t>(in.mode & 07777), static_cast<uint16_t>(in.umask & 0777),
                         plannedIno(c)));
}

void Dispatcher::symlink(Call& c) {
  std::string_view name, target;
  if (!c.in.takeName(name) || !c.in.takeName(target)) return malformed(c);
  if (madeBefore(c, c.in.node(), name)) return;
  putEntry(c, vfs_.symlink(c.ctx, c.in.node(), name, target, plannedIno(c)));
}

void Dispatcher::unlink(Call& c) {
  std::string_view name;
  if (!c.in.takeName(name)) return malformed(c);
  if (goneBefore(c, c.in.node(), name)) return;
  if (auto s = vfs_.unlink(c.ctx, c.in.node(), name); !s) fail(c, s);
}

void Dispatcher::rmdir(Call& c) {
  std::string_view name;
  if (!c.in.takeName(name)) return malformed(c);
  if (goneBefore(c, c.in.node(), name)) return;
  if (auto s = vfs_.rmdir(c.ctx, c.in.node(), name); !s) fail(c, s);
}

void Dispatcher::rename(Call& c) {
  RenameIn in;
  if (!c.in.take(in)) return malformed(c);
  renameWith(c, in.newDir, 0);
}

void Dispatcher::rename2(Call& c) {
  Rename2In in;
  if (!c.in.take(in)) return malformed(c);
  renameWith(c, in.newDir, in.flags);
}

void Dispatcher::renameWith(Call& c, Ino newDir, uint32_t flags) {
  std::string_view name, newName;
  if (!c.in.takeName(name) || !c.in.takeName(newName)) return malformed(c);
  // goneBefore: the old name no longer leads to the inode that was to be moved; done if the new one does.
  if (goneBefore(c, c.in.node(), name)) {
    auto there = vfs_.lookup(c.ctx, newDir, newName);
    if (there && there->ino == c.note->ino.load()) return;
    return c.out->fail(ENOENT);  // somebody else has moved it on or removed it
  }
  if (auto s = vfs_.rename(c.ctx, c.in.node(), name, newDir, newName, flags); !s) fail(c, s);
}

void Dispatcher::link(Call& c) {
  LinkIn in;
  std::string_view name;
  if (!c.in.take(in) || !c.in.takeName(name)) return malformed(c);
  c.note->ino.store(in.oldNodeId);
  const bool begun = c.known && (c.note->flags.load() & kJournalStarted);
  c.note->flags.fetch_or(kJournalStarted);
  if (begun && madeBefore(c, c.in.node(), name)) return;
  putEntry(c, vfs_.link(c.ctx, in.oldNodeId, c.in.node(), name));
}

void Dispatcher::readlink(Call& c) {
  auto target = vfs_.readlink(c.ctx, c.in.node());
  if (!target) return fail(c, target.status());
  c.out->put(target->data(), target->size());
}

}  // namespace aquifer::fuse
