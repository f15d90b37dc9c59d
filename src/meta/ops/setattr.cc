// Changing attributes other than the length.
#include "meta/model/acl.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

constexpr uint32_t kTimes = kSetAtime | kSetMtime | kSetAtimeNow | kSetMtimeNow;

bool ownerOrRoot(const Context& ctx, const Attr& attr) { return ctx.uid == 0 || ctx.uid == attr.uid; }

// What Linux refuses on immutable and append-only files; "now" times only on immutable ones.
Status checkFlags(const Attr& attr, uint32_t mask) {
  if ((mask & kSetFlags) != 0) return {};
  auto locked = attr.flags & (kFlagImmutable | kFlagAppend);
  if (locked == 0) return {};
  if ((mask & (kSetMode | kSetUid | kSetGid | kSetAtime | kSetMtime)) != 0) return Code::notPermitted;
  if ((locked & kFlagImmutable) != 0 && (mask & (kSetAtimeNow | kSetMtimeNow)) != 0) return Code::notPermitted;
  return {};
}

// chown takes the rights of set-id programs away.
void clearSetIds(const Context& ctx, uint16_t& mode) {
  if (ctx.uid != 0 || (mode & 0010) != 0)
    mode &= 01777;
  else
    mode &= ~04000;
}

}  // namespace

Status MetaImpl::changeOwner(const Context& ctx, const SetAttr& set, Attr& attr) {
  auto uid = (set.mask & kSetUid) != 0 ? set.uid : attr.uid;
  auto gid = (set.mask & kSetGid) != 0 ? set.gid : attr.gid;
  if (ctx.checkPermission && ctx.uid != 0) {
    if (uid != attr.uid) return Code::notPermitted;
    if (gid != attr.gid && (ctx.uid != attr.uid || !ctx.inGroup(gid))) return Code::notPermitted;
  }
  attr.uid = uid;
  attr.gid = gid;
  return {};
}

Status MetaImpl::changeMode(const Context& ctx, MetaTxn* tx, uint16_t mode, Attr& attr) {
  if (ctx.checkPermission && ctx.uid != 0 && (mode & 02000) != 0 && !ctx.inGroup(attr.gid)) mode &= ~02000;
  if (mode == attr.mode) return {};
  // The kernel takes set-id bits away on behalf of whoever writes; anything else is the owner's.
  bool onlyDrops = (attr.mode & ~mode & 01777) == 0 && (mode & ~attr.mode) == 0;
  if (!ownerOrRoot(ctx, attr) && !onlyDrops) return Code::notPermitted;
  if (attr.accessAcl != 0 && tx != nullptr) {
    TRY_ASSIGN(auto rule, acls_.rule(*tx, attr.accessAcl));
    aclSetMode(rule, mode);
    TRY_ASSIGN(attr.accessAcl, acls_.idOf(*tx, rule));
    mode = aclToMode(rule, mode);
  }
  attr.mode = mode;
  return {};
}

Status MetaImpl::changeTimes(const Context& ctx, MetaTxn* tx, const SetAttr& set, Time now, Attr& attr) {
  if ((set.mask & kTimes) == 0) return {};
  if (ctx.checkPermission && !ownerOrRoot(ctx, attr)) {
    if ((set.mask & (kSetAtime | kSetMtime)) != 0) return Code::notPermitted;
    if (tx != nullptr) TRY(allowed(ctx, *tx, attr, 2));
  }
  if ((set.mask & kSetAtime) != 0) attr.atime = set.atime;
  if ((set.mask & kSetMtime) != 0) attr.mtime = set.mtime;
  if ((set.mask & kSetAtimeNow) != 0) attr.atime = now;
  if ((set.mask & kSetMtimeNow) != 0) attr.mtime = now;
  return {};
}

Status MetaImpl::changeAttr(const Context& ctx, MetaTxn* tx, const SetAttr& wanted, Time now, Attr& attr) {
  auto set = wanted;
  TRY(checkFlags(attr, set.mask));
  if ((set.mask & (kSetUid | kSetGid)) != 0) {
    if ((set.mask & kSetMode) != 0) set.mode |= attr.mode & 06000;
    auto before = attr;
    TRY(changeOwner(ctx, set, attr));
    if ((before.mode & 06000) != 0 && !attr.isDir()) {
      auto& mode = (set.mask & kSetMode) != 0 ? set.mode : attr.mode;
      clearSetIds(ctx, mode);
    }
  }
  if ((set.mask & kSetMode) != 0) TRY(changeMode(ctx, tx, set.mode & 07777, attr));
  TRY(changeTimes(ctx, tx, set, now, attr));
  if ((set.mask & kSetTier) != 0) attr.tier = set.tier;
  if ((set.mask & kSetFlags) != 0) {
    if (ctx.checkPermission && ctx.uid != 0) return Code::notPermitted;
    attr.flags = set.flags;
  }
  attr.ctime = (set.mask & kSetCtime) != 0 ? set.ctime : now;
  return {};
}

Result<Attr> MetaImpl::setattr(const Context& ctx, Ino ino, const SetAttr& set, uint8_t sugidClearMode) {
  ino = real(ino);
  if (set.mask == 0) return getattr(ctx, ino);
  if (config_.readOnly) return Code::readOnly;
  Attr result;
  Charge charge(*this);
  auto s = txn(
      "setattr",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY_ASSIGN(auto attr, tx.node(ino));
        // What lies in the trash is kept as it was, except for those who had it open when it went there.
        if (attr.parent > kTrashIno && !open_.isOpen(ino)) return Code::notPermitted;
        if (isTrash(ino)) return Code::notPermitted;
        auto before = attr;
        TRY(changeAttr(ctx, &tx, set, now(), attr));
        if (attr.uid != before.uid || attr.gid != before.gid) {
          TRY(charge.owner(tx, before.uid, before.gid, -spaceOf(before), -1));
          TRY(charge.owner(tx, attr.uid, attr.gid, spaceOf(attr), 1));
        }
        tx.put(key::node(ino), attr);
        if (logging()) log(tx, changelog::setAttr(ino, set.mask, sugidClearMode, attr));
        result = attr;
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(ino)));
        return attr && *attr == result;
      });
  if (s.is(Code::notFound)) {
    if (auto tomb = open_.tomb(ino)) {
      TRY(changeAttr(ctx, nullptr, set, now(), *tomb));
      open_.changeTomb(ino, *tomb);
      return *tomb;
    }
  }
  TRY(s);
  charge.committed();
  TRY(presentAfter(ino, result));
  return result;
}

Status MetaImpl::touchAtime(const Context&, Ino ino) {
  if (config_.atimeMode == AtimeMode::noatime || config_.readOnly) return {};
  ino = real(ino);
  auto due = [&](const Attr& attr, Time now) {
    auto age = now.nanos() - attr.atime.nanos();
    if (config_.atimeMode == AtimeMode::strictatime) return age > 1'000'000'000;
    return attr.atime <= attr.mtime || attr.atime <= attr.ctime || age > int64_t{86'400} * 1'000'000'000;
  };
  bool wanted = false;
  TRY(read("touchAtime", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(auto attr, tx.node(ino));
    wanted = due(attr, now());
    return {};
  }));
  if (!wanted) return {};
  return txn(
      "touchAtime",
      [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(auto attr, tx.node(ino));
        auto time = now();
        if (!due(attr, time)) return {};
        attr.atime = time;
        tx.put(key::node(ino), attr);
        if (logging()) log(tx, changelog::access(ino));
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; });
}

}  // namespace aquifer::meta
