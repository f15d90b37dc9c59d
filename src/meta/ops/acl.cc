// POSIX ACLs of nodes.
#include "meta/model/acl.h"

#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

Result<std::optional<AclRule>> MetaImpl::getAcl(const Context&, Ino ino, AclType type) {
  std::optional<AclRule> rule;
  if (!formatNow()->enableAcl) return rule;
  ino = real(ino);
  auto s = read("getAcl", [&](MetaTxn& tx) -> Status {
    rule.reset();
    TRY_ASSIGN(auto attr, tx.node(ino, kFieldAcl));
    auto id = type == AclType::access ? attr.accessAcl : attr.defaultAcl;
    if (id != 0) {
      TRY_ASSIGN(rule, acls_.rule(tx, id));
    }
    return {};
  });
  if (s.is(Code::notFound) && open_.tomb(ino)) return std::optional<AclRule>();
  TRY(s);
  return rule;
}

Status MetaImpl::setAcl(const Context& ctx, Ino ino, AclType type, const AclRule& wanted) {
  if (!formatNow()->enableAcl) return Code::unsupported;
  ino = real(ino);
  Time time;
  return txn(
      "setAcl",
      [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(auto attr, tx.node(ino));
        if (ctx.uid != 0 && ctx.uid != attr.uid) return Code::notPermitted;
        if ((attr.flags & kFlagImmutable) != 0) return Code::notPermitted;
        if (type == AclType::dflt && !attr.isDir()) return aclEmpty(wanted) ? Status() : Status(Code::accessDenied);
        auto before = attr;
        auto rule = wanted;
        if (type == AclType::dflt) {
          if (!aclEmpty(rule)) aclFill(rule, attr.mode);
          TRY_ASSIGN(attr.defaultAcl, acls_.idOf(tx, rule));
        } else if (aclEmpty(rule)) {
          attr.accessAcl = 0;
        } else {
          aclFill(rule, attr.mode);
          if (ctx.checkPermission && ctx.uid != 0 && !ctx.inGroup(attr.gid)) attr.mode &= ~02000;
          attr.mode = aclToMode(rule, attr.mode);
          attr.accessAcl = 0;
          if (!aclMinimal(rule)) {
            TRY_ASSIGN(attr.accessAcl, acls_.idOf(tx, rule));
          }
        }
        if (attr == before) return {};
        time = attr.ctime = now();
        tx.put(key::node(ino), attr);
        if (logging()) log(tx, changelog::setFacl(ino, static_cast<uint8_t>(type), wanted));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(ino)));
        return attr && attr->ctime == time;
      });
}

}  // namespace aquifer::meta
