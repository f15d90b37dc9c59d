// Extended attributes, and POSIX ACLs in their xattr dress. Which of them work is a matter of mount options.
#include <fmt/format.h>

#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

namespace {
constexpr std::string_view kCapability = "security.capability", kSelinux = "security.selinux";
constexpr std::string_view kAccessAcl = "system.posix_acl_access", kDefaultAcl = "system.posix_acl_default";

bool aclTypeOf(std::string_view name, meta::AclType* type) {
  if (name == kAccessAcl) *type = meta::AclType::access;
  else if (name == kDefaultAcl) *type = meta::AclType::dflt;
  else return false;
  return true;
}
}  // namespace

// The capability of a file is asked for at every write, so the answer "not here" must cost nothing. ENOSYS makes the kernel stop
// asking, and tell callers that the operation is not supported.
Status VfsImpl::checkXattr(std::string_view name, bool set) const {
  if (!config_.enableXattr && !config_.enableAcl) return Code::notImplemented;
  if ((name == kCapability && !config_.enableCap) || (name == kSelinux && !config_.enableSelinux))
    return set ? Code::unsupported : Code::noAttribute;
  if (name.empty()) return Code::invalid;
  if (name.size() > meta::kMaxXattrName) return Code::range;
  return {};
}

Result<std::string> VfsImpl::doGetxattr(const Context& ctx, Ino ino, std::string_view name) {
  TRY(checkXattr(name, false));
  if (isSpecial(ino)) return Code::noAttribute;
  meta::AclType type;
  if (!aclTypeOf(name, &type)) return meta_.getxattr(ctx, ino, name);
  if (!config_.enableAcl) return Code::noAttribute;
  TRY_ASSIGN(auto rule, meta_.getAcl(ctx, ino, type));
  if (!rule) return Code::noAttribute;
  return meta::encodePosixAcl(*rule);
}

Result<std::string> VfsImpl::getxattr(const Context& ctx, Ino ino, std::string_view name) {
  auto o = op(ctx, OpKind::getxattr, isSpecial(ino));
  return o.done(doGetxattr(ctx, ino, name), [&](auto& r) { return fmt::format("({},{},0): ({})", ino, logName(name), r ? r->size() : 0); });
}

Status VfsImpl::doSetxattr(const Context& ctx, Ino ino, std::string_view name, std::string_view value, int flags) {
  TRY(checkXattr(name, true));
  if (isSpecial(ino)) return Code::notPermitted;
  if (config_.readOnly) return Code::readOnly;
  if (value.size() > meta::kMaxXattrValue) return Code::range;
  meta::AclType type;
  if (!aclTypeOf(name, &type)) return meta_.setxattr(ctx, ino, name, value, flags);
  if (!config_.enableAcl) return Code::unsupported;
  meta::AclRule rule;
  if (!value.empty()) {
    TRY_ASSIGN(rule, meta::decodePosixAcl(value));
  }
  TRY(meta_.setAcl(ctx, ino, type, rule));
  changes_.changed(ino);   // the mode follows the rule
  return {};
}

Status VfsImpl::setxattr(const Context& ctx, Ino ino, std::string_view name, std::string_view value, int flags) {
  auto o = op(ctx, OpKind::setxattr, isSpecial(ino));
  return o.done(doSetxattr(ctx, ino, name, value, flags),
                [&](auto&) { return fmt::format("({},{},{},{})", ino, logName(name), value.size(), flags); });
}

Result<std::string> VfsImpl::listxattr(const Context& ctx, Ino ino) {
  auto o = op(ctx, OpKind::listxattr, isSpecial(ino));
  auto run = [&]() -> Result<std::string> {
    if (!config_.enableXattr && !config_.enableAcl) return Code::notImplemented;
    std::string out;
    if (isSpecial(ino)) return out;
    TRY_ASSIGN(auto names, meta_.listxattr(ctx, ino));
    for (auto& n : names)
      if (checkXattr(n, false)) out.append(n).push_back('\0');
    return out;
  };
  return o.done(run(), [&](auto& r) { return fmt::format("({},0): ({})", ino, r ? r->size() : 0); });
}

Status VfsImpl::removexattr(const Context& ctx, Ino ino, std::string_view name) {
  auto o = op(ctx, OpKind::removexattr, isSpecial(ino));
  auto run = [&]() -> Status {
    TRY(checkXattr(name, true));
    if (isSpecial(ino)) return Code::notPermitted;
    if (config_.readOnly) return Code::readOnly;
    meta::AclType type;
    if (!aclTypeOf(name, &type)) return meta_.removexattr(ctx, ino, name);
    if (!config_.enableAcl) return Code::unsupported;
    TRY(meta_.setAcl(ctx, ino, type, meta::AclRule()));
    changes_.changed(ino);
    return {};
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},{})", ino, logName(name)); });
}

}  // namespace aquifer::vfs
