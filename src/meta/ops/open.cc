// Opening and closing: checks, and the count that keeps unlinked files alive.
#include <fcntl.h>

#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

constexpr uint32_t kForExec = 0x20;  // the kernel's __FMODE_EXEC

bool writes(uint32_t flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0; }

uint8_t wantedRights(uint32_t flags) {
  if ((flags & kForExec) != 0) return 1;
  switch (flags & O_ACCMODE) {
    case O_RDONLY: return (flags & O_TRUNC) != 0 ? 6 : 4;
    case O_WRONLY: return 2;
    default: return 6;
  }
}

Status checkOpen(const Attr& attr, uint32_t flags) {
  if (!writes(flags)) return {};
  if (attr.isDir()) return Code::isDirectory;
  if ((attr.flags & kFlagImmutable) != 0 || attr.parent > kTrashIno) return Code::notPermitted;
  if ((attr.flags & kFlagAppend) != 0 && ((flags & O_APPEND) == 0 || (flags & O_TRUNC) != 0)) return Code::notPermitted;
  return {};
}

}  // namespace

Result<Attr> MetaImpl::open(const Context& ctx, Ino ino, uint32_t flags) {
  if (config_.readOnly && writes(flags)) return Code::readOnly;
  ino = real(ino);
  open_.opened(ino);  // before the attributes are read: an unlink that follows has to see it
  Attr attr;
  auto s = read("open", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(attr, tx.node(ino));
    TRY(checkOpen(attr, flags));
    TRY(allowed(ctx, tx, attr, wantedRights(flags)));
    return present(tx, ino, attr);
  });
  if (s) return attr;
  if (s.is(Code::notFound))
    if (auto tomb = open_.tomb(ino)) return *tomb;
  TRY(close(ino));
  return s;
}

Status MetaImpl::close(Ino ino) {
  ino = real(ino);
  bool sustained = false;
  if (!open_.closed(ino, &sustained) || !sustained || sid() == 0) return {};
  return dropSustained(sid(), ino);
}

void MetaImpl::adoptOpen(Ino ino) { open_.opened(real(ino)); }

}  // namespace aquifer::meta
