// Attributes, extended attributes, ioctl, statfs.
#include <fcntl.h>

#include "access/fuse/dispatcher.h"

namespace aquifer::fuse {
namespace {

meta::Time timeOf(uint64_t sec, uint32_t nsec) { return {static_cast<int64_t>(sec), nsec < 1'000'000'000 ? nsec : 999'999'999}; }

AttrReply attrReply(const vfs::EntryReply& e) {
  const EntryOut entry = entryOut(e);
  return {entry.attrValid, entry.attrValidNsec, 0, entry.attr};
}

meta::SetAttr setAttrOf(const SetattrIn& in) {
  meta::SetAttr s;
  auto on = [&](uint32_t bit, uint32_t mask) { s.mask |= in.valid & bit ? mask : 0; };
  on(kValidMode, meta::kSetMode), on(kValidUid, meta::kSetUid), on(kValidGid, meta::kSetGid), on(kValidSize, meta::kSetSize);
  on(kValidAtime, meta::kSetAtime), on(kValidMtime, meta::kSetMtime), on(kValidCtime, meta::kSetCtime);
  on(kValidAtimeNow, meta::kSetAtimeNow), on(kValidMtimeNow, meta::kSetMtimeNow);
  s.mode = static_cast<uint16_t>(in.mode & 07777);
  s.uid = in.uid, s.gid = in.gid;
  s.atime = timeOf(in.atime, in.atimeNsec), s.mtime = timeOf(in.mtime, in.mtimeNsec), s.ctime = timeOf(in.ctime, in.ctimeNsec);
  return s;
}

}  // namespace

void Dispatcher::getattr(Call& c) {
  GetattrIn in;
  if (!c.in.take(in)) return malformed(c);
  auto e = vfs_.getattr(c.ctx, c.in.node(), in.flags & kGetattrFh ? in.fh : 0);
  if (!e) return fail(c, e.status());
  c.out->put(attrReply(*e));
}

void Dispatcher::setattr(Call& c) {
  SetattrIn in;
  if (!c.in.take(in)) return malformed(c);
  const bool byHandle = in.valid & kValidFh;
  auto e = vfs_.setattr(c.ctx, c.in.node(), byHandle ? in.fh : 0, byHandle, setAttrOf(in), in.size);
  if (!e) return fail(c, e.status());
  c.out->put(attrReply(*e));
}

void Dispatcher::access(Call& c) {
  AccessIn in;
  if (!c.in.take(in)) return malformed(c);
  if (auto s = vfs_.access(c.ctx, c.in.node(), in.mask); !s) fail(c, s);
}

void Dispatcher::statfs(Call& c) {
  auto s = vfs_.statfs(c.ctx, c.in.node());
  if (!s) return fail(c, s.status());
  constexpr uint32_t kUnit = 4096;
  StatfsOut out{};
  out.blocks = s->totalSpace / kUnit;
  out.bfree = out.bavail = s->availSpace / kUnit;
  out.files = s->totalInodes, out.ffree = s->availInodes;
  out.bsize = out.frsize = kUnit;
  out.namelen = meta::kMaxName;
  c.out->put(out);
}

void Dispatcher::getxattr(Call& c) {
  GetxattrIn in;
  std::string_view name;
  if (!c.in.take(in) || !c.in.takeName(name)) return malformed(c);
  // With ENOSYS the kernel answers EOPNOTSUPP by itself from now on, instead of asking for security.capability at every write.
  if (!xattrs_) return c.out->fail(ENOSYS);
  auto value = vfs_.getxattr(c.ctx, c.in.node(), name);
  if (!value) return fail(c, value.status());
  if (in.size == 0) return c.out->put(GetxattrOut{static_cast<uint32_t>(value->size()), 0});
  if (value->size() > in.size) return c.out->fail(ERANGE);
  c.out->put(value->data(), value->size());
}

void Dispatcher::listxattr(Call& c) {
  GetxattrIn in;
  if (!c.in.take(in)) return malformed(c);
  if (!xattrs_) return c.out->fail(ENOSYS);
  auto names = vfs_.listxattr(c.ctx, c.in.node());
  if (!names) return fail(c, names.status());
  if (in.size == 0) return c.out->put(GetxattrOut{static_cast<uint32_t>(names->size()), 0});
  if (names->size() > in.size) return c.out->fail(ERANGE);
  c.out->put(names->data(), names->size());
}

void Dispatcher::setxattr(Call& c) {
  SetxattrIn in;
  std::string_view name;
  std::span<const std::byte> value;
  if (!c.in.take(in) || !c.in.takeName(name) || !c.in.takeBytes(in.size, value)) return malformed(c);
  if (!xattrs_) return c.out->fail(ENOSYS);
  // The second time around, "it must be new" no longer holds because of the first.
  const bool begun = c.known && (c.note->flags.load() & kJournalStarted);
  const int flags = begun ? 0 : static_cast<int>(in.flags);
  c.note->flags.fetch_or(kJournalStarted);
  auto s = vfs_.setxattr(c.ctx, c.in.node(), name, {reinterpret_cast<const char*>(value.data()), value.size()}, flags);
  if (!s) return fail(c, s);
  if (name == "system.posix_acl_access") dropSetgid(c);
}

// A new access ACL takes the set-group-id bit away from those who could not have set it. The kernel leaves that to us, since the
// request form that would tell us so is not used (0001).
void Dispatcher::dropSetgid(Call& c) {
  constexpr uint16_t kSetgid = 02000;
  if (c.ctx.uid == 0) return;
  auto e = vfs_.getattr(c.ctx, c.in.node(), 0);
  if (!e || !(e->attr.mode & kSetgid) || identity_.inGroup(c.ctx, e->attr.gid)) return;
  meta::SetAttr without;
  without.mask = meta::kSetMode, without.mode = e->attr.mode & static_cast<uint16_t>(~kSetgid);
  if (auto s = vfs_.setattr(c.ctx, c.in.node(), 0, false, without, 0); !s) fail(c, s.status());
}

void Dispatcher::removexattr(Call& c) {
  std::string_view name;
  if (!c.in.takeName(name)) return malformed(c);
  if (!xattrs_) return c.out->fail(ENOSYS);
  const bool begun = c.known && (c.note->flags.load() & kJournalStarted);
  c.note->flags.fetch_or(kJournalStarted);
  auto s = vfs_.removexattr(c.ctx, c.in.node(), name);
  if (!s && !(begun && s.is(Code::noAttribute))) fail(c, s);
}

void Dispatcher::ioctl(Call& c) {
  IoctlIn in;
  std::span<const std::byte> data;
  if (!c.in.take(in) || !c.in.takeBytes(in.inSize, data)) return malformed(c);
  if (in.outSize > c.out->limit() - sizeof(IoctlOut)) return malformed(c);
  auto out = vfs_.ioctl(c.ctx, c.in.node(), in.fh, in.cmd, {reinterpret_cast<const char*>(data.data()), data.size()}, in.outSize);
  if (!out) return fail(c, out.status());
  c.out->put(IoctlOut{});
  c.out->put(out->data(), std::min<size_t>(out->size(), in.outSize));
}

}  // namespace aquifer::fuse
