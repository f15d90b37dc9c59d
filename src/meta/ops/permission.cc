// Who may do what: mode bits, ACLs, sticky directories, immutable and append-only flags.
#include "meta/model/acl.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

bool modeGrants(const Context& ctx, const Attr& attr, uint8_t rwx) {
  int shift = ctx.uid == attr.uid ? 6 : ctx.inGroup(attr.gid) ? 3 : 0;
  return ((attr.mode >> shift) & rwx) == rwx;
}

}  // namespace

Status MetaImpl::allowed(const Context& ctx, MetaTxn& tx, const Attr& attr, uint8_t rwx) {
  if (!ctx.checkPermission || ctx.uid == 0) return {};
  bool ok = false;
  if (attr.accessAcl != 0 && (attr.mode & 0070) != 0) {
    TRY_ASSIGN(auto rule, acls_.rule(tx, attr.accessAcl));
    auto groups = ctx.groups;
    groups.push_back(ctx.gid);
    ok = aclGrants(rule, ctx.uid, groups, attr.uid, attr.gid, rwx);
  } else {
    ok = modeGrants(ctx, attr, rwx);
  }
  return ok ? Status() : Status(Code::accessDenied);
}

Result<Attr> MetaImpl::parentFor(const Context& ctx, MetaTxn& tx, Ino dir, ParentUse use) {
  TRY_ASSIGN(auto attr, tx.node(dir, kFieldsParent));
  if (!attr.isDir()) return Code::notDirectory;
  if (use == ParentUse::adding && attr.parent > kTrashIno) return Code::notFound;
  TRY(allowed(ctx, tx, attr, 3));
  if ((attr.flags & kFlagImmutable) != 0) return Code::notPermitted;
  if (use == ParentUse::removing && (attr.flags & kFlagAppend) != 0) return Code::notPermitted;
  return attr;
}

Status MetaImpl::stickyAllows(const Context& ctx, const Attr& dir, const Attr& entry) {
  if (ctx.uid == 0 || (dir.mode & 01000) == 0 || ctx.uid == dir.uid || ctx.uid == entry.uid) return {};
  return Code::accessDenied;
}

Status MetaImpl::access(const Context& ctx, Ino ino, uint8_t rwx, const Attr* known) {
  if (!ctx.checkPermission || ctx.uid == 0) return {};
  ino = real(ino);
  return read("access", [&](MetaTxn& tx) -> Status {
    if (known) return allowed(ctx, tx, *known, rwx);
    TRY_ASSIGN(auto attr, tx.node(ino));
    return allowed(ctx, tx, attr, rwx);
  });
}

}  // namespace aquifer::meta
