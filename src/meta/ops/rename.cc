// Renaming: plain, no-replace, exchange, and restoring from the trash.
//
// A directory move relies on the parent of every directory between its new place and the root, inside the transaction: of two
// moves that together would cut a tree off, the second meets a conflict, runs again, and finds that it would make a loop.
#include <algorithm>

#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

struct Usage {
  int64_t length = 0, space = 0, inodes = 1;
  DirStat stat(int sign) const { return {sign * length, sign * space, sign}; }  // as a child of its parent
};

Usage ownUsage(const Attr& attr) {
  return {.length = attr.isRegular() ? static_cast<int64_t>(attr.length) : 0, .space = spaceOf(attr)};
}

struct Side {
  Ino parent = 0;
  std::string_view name;
  Ino ino = 0;        // 0: no such entry
  Dentry dentry;
  Attr attr;
  Attr dir;           // masked attributes of the parent
};

}  // namespace

// One attempt at a rename; every member is used inside the transaction.
class MetaImpl::Rename {
 public:
  Rename(MetaImpl& meta, const Context& ctx, MetaTxn& tx, uint32_t flags, Side src, Side dst, Charge& charge)
      : meta_(meta), ctx_(ctx), tx_(tx), flags_(flags), src_(std::move(src)), dst_(std::move(dst)), charge_(charge) {}

  Status run();

  Entry moved;
  Removal removal;          // of the replaced target
  Ino target = 0;           // replaced or swapped
  bool unchanged = false;
  // Usage of whole directories below `moved` and `target` for quotas; asked for by the caller before the attempt.
  std::optional<Summary> movedTree, targetTree;
  bool needTrees = false;   // out: run again with them

 private:
  bool exchange() const { return (flags_ & kRenameExchange) != 0; }
  Status find(Side& side);
  Status check();
  Status relink(Side& from, Side& to);
  Status moveUsage();
  Status moveQuotas(const Side& from, const Side& to, const std::optional<Summary>& tree, bool check);
  void countDirs();

  MetaImpl& meta_;
  const Context& ctx_;
  MetaTxn& tx_;
  const uint32_t flags_;
  Side src_, dst_;
  Charge& charge_;
  Time now_ = MetaImpl::now();
};

Status MetaImpl::Rename::find(Side& side) {
  TRY_ASSIGN(auto found, tx_.lookup(side.parent, side.name));
  if (!found) return {};
  side.ino = found->dentry.ino;
  side.dentry = found->dentry;
  if (!found->attr) return Status(Code::io, "entry without a node");
  side.attr = *found->attr;
  return {};
}

Status MetaImpl::Rename::check() {
  bool sameDir = src_.parent == dst_.parent;
  bool restore = (flags_ & kRenameRestore) != 0;
  if (src_.attr.isDir() && src_.ino == dst_.parent) return Code::invalid;
  TRY_ASSIGN(src_.dir, meta_.parentFor(ctx_, tx_, src_.parent, ParentUse::removing));
  if (sameDir) {
    dst_.dir = src_.dir;
  } else {
    TRY_ASSIGN(dst_.dir, meta_.parentFor(ctx_, tx_, dst_.parent, restore ? ParentUse::restoring : ParentUse::adding));
  }
  if (exchange() && (dst_.dir.flags & kFlagAppend) != 0) return Code::notPermitted;
  if (!sameDir) {
    if (src_.attr.isDir()) {
      TRY_ASSIGN(bool loop, meta_.isBelow(tx_, dst_.parent, src_.ino));
      if (loop) return Code::invalid;
      TRY(meta_.allowed(ctx_, tx_, src_.attr, 2));  // its ".." changes
    }
    if (exchange() && dst_.ino != 0 && dst_.attr.isDir()) {
      TRY_ASSIGN(bool loop, meta_.isBelow(tx_, src_.parent, dst_.ino));
      if (loop) return Code::invalid;
    }
  }
  TRY(meta_.stickyAllows(ctx_, src_.dir, src_.attr));
  if ((src_.attr.flags & (kFlagImmutable | kFlagAppend)) != 0) return Code::notPermitted;
  if (dst_.ino == 0) return exchange() ? Status(Code::notFound) : Status();
  if ((flags_ & kRenameNoReplace) != 0) return Code::exists;
  if (dst_.ino == src_.ino) return {};
  if (!exchange()) {
    if (src_.attr.isDir() && !dst_.attr.isDir()) return Code::notDirectory;
    if (!src_.attr.isDir() && dst_.attr.isDir()) return Code::isDirectory;
    if (dst_.attr.isDir()) {
      TRY_ASSIGN(bool empty, tx_.isEmpty(Kind::dentry, dst_.ino));
      if (!empty) return Code::notEmpty;
    }
  }
  TRY(meta_.stickyAllows(ctx_, dst_.dir, dst_.attr));
  if ((dst_.attr.flags & (kFlagImmutable | kFlagAppend)) != 0) return Code::notPermitted;
  return {};
}

// The node of `from` hangs at the place of `to` from now on.
Status MetaImpl::Rename::relink(Side& from, Side& to) {
  if (from.parent != to.parent) {
    if (from.attr.parent != 0) {
      from.attr.parent = to.parent;
    } else {
      tx_.add(key::parentCount(from.ino, to.parent), 1);
      tx_.add(key::parentCount(from.ino, from.parent), -1);
    }
    if (from.attr.isDir() && isTrash(from.parent) && meta_.formatNow()->dirStats) {
      // Its statistics went away with it. Known again if it is empty; else whoever needs them counts.
      TRY_ASSIGN(bool empty, tx_.isEmpty(Kind::dentry, from.ino));
      if (empty) tx_.put(key::dirStat(from.ino), DirStat{});
    }
  }
  from.attr.ctime = now_;
  if (from.attr.isDir()) tx_.exclusive(from.ino);
  tx_.put(key::node(from.ino), from.attr);
  tx_.put(key::dentry(to.parent, to.name), from.dentry);
  return {};
}

Status MetaImpl::Rename::moveQuotas(const Side& from, const Side& to, const std::optional<Summary>& tree, bool check) {
  if (!meta_.quotas_.anyDir()) return {};
  TRY_ASSIGN(auto leave, charge_.quotasFrom(tx_, from.parent));
  TRY_ASSIGN(auto enter, charge_.quotasFrom(tx_, to.parent));
  while (!leave.empty() && !enter.empty() && leave.back() == enter.back()) {  // above both places nothing changes
    leave.pop_back();
    enter.pop_back();
  }
  if (leave.empty() && enter.empty()) return {};
  auto usage = ownUsage(from.attr);
  if (from.attr.isDir()) {
    if (!tree) {
      needTrees = true;
      return Code::wouldBlock;
    }
    usage.space = static_cast<int64_t>(tree->size);
    usage.inodes = static_cast<int64_t>(tree->files + tree->dirs);
  }
  for (auto dir : leave) TRY(charge_.dirQuota(tx_, dir, -usage.space, -usage.inodes, false));
  for (auto dir : enter) TRY(charge_.dirQuota(tx_, dir, usage.space, usage.inodes, check));
  return {};
}

Status MetaImpl::Rename::moveUsage() {
  if (src_.parent == dst_.parent) return {};
  auto usage = ownUsage(src_.attr);
  charge_.stat(tx_, src_.parent, usage.stat(-1));
  charge_.stat(tx_, dst_.parent, usage.stat(1));
  if (exchange()) {
    auto other = ownUsage(dst_.attr);
    charge_.stat(tx_, dst_.parent, other.stat(-1));
    charge_.stat(tx_, src_.parent, other.stat(1));
    TRY(moveQuotas(dst_, src_, targetTree, false));
  }
  return moveQuotas(src_, dst_, movedTree, true);
}

void MetaImpl::Rename::countDirs() {
  int atSrc = 0, atDst = 0;  // sub-directories won and lost
  if (src_.attr.isDir()) atSrc--, atDst++;
  if (dst_.ino != 0 && dst_.attr.isDir()) {
    atDst--;
    if (exchange()) atSrc++;
  }
  auto update = [&](Ino dir, int count) {
    if (isTrash(dir)) return;
    if (count != 0) tx_.addNlink(dir, count);
    tx_.touch(dir, now_, count != 0 ? 0 : meta_.config_.skipDirMtime.count());
  };
  if (src_.parent == dst_.parent) {
    update(src_.parent, atSrc + atDst);
  } else {
    update(src_.parent, atSrc);
    update(dst_.parent, atDst);
  }
}

Status MetaImpl::Rename::run() {
  TRY(find(src_));
  TRY(find(dst_));
  if (src_.ino == 0) {
    TRY(meta_.parentFor(ctx_, tx_, src_.parent, ParentUse::removing));
    return Code::notFound;
  }
  TRY(check());
  moved = {src_.ino, src_.attr};
  if (dst_.ino == src_.ino) {  // the same place, or two names of one file: nothing happens
    unchanged = true;
    return {};
  }
  target = dst_.ino;
  if (ctx_.intent) ctx_.intent(src_.ino);
  tx_.shared(dst_.parent);
  if (exchange()) tx_.shared(src_.parent);
  if (exchange()) {
    TRY(moveUsage());
    TRY(relink(src_, dst_));
    TRY(relink(dst_, src_));
  } else {
    if (dst_.ino != 0) {
      if (dst_.attr.isDir()) tx_.exclusive(dst_.ino);
      TRY_ASSIGN(removal, meta_.removeName(tx_, dst_.parent, dst_.name, dst_.ino, dst_.attr, false, now_, charge_));
    }
    TRY(moveUsage());  // after the removal, which may make room under a quota
    tx_.erase(key::dentry(src_.parent, src_.name));
    TRY(relink(src_, dst_));
  }
  countDirs();
  moved.attr = src_.attr;
  if (meta_.logging())
    meta_.log(tx_, changelog::move(src_.parent, src_.name, dst_.parent, dst_.name, flags_, target, removal.trash, src_.ino));
  return {};
}

Result<RenameResult> MetaImpl::rename(const Context& ctx, Ino srcParent, std::string_view srcName, Ino dstParent,
                                      std::string_view dstName, uint32_t flags) {
  if (flags == kRenameWhiteout || flags == (kRenameNoReplace | kRenameWhiteout)) return Code::unsupported;
  if (flags != 0 && flags != kRenameNoReplace && flags != kRenameExchange && flags != (kRenameNoReplace | kRenameRestore))
    return Code::invalid;
  srcParent = real(srcParent);
  dstParent = real(dstParent);
  TRY(checkTrashRemoval(ctx, srcParent, srcName));
  if (auto s = checkNewName(dstParent, dstName); !s) return s.is(Code::exists) ? Status(Code::busy) : s;
  if (config_.readOnly) return Code::readOnly;

  std::optional<Summary> movedTree, targetTree;
  for (int round = 0;; round++) {
    RenameResult result;
    Removal removal;
    bool unchanged = false, needTrees = false;
    Ino source = 0;
    Charge charge(*this);
    auto s = txn(
        "rename",
        [&](MetaTxn& tx) -> Status {
          charge.reset();
          const Key wanted[] = {key::node(srcParent), key::dentry(srcParent, srcName), key::node(dstParent),
                                key::dentry(dstParent, dstName), subTrashKey(now())};
          tx.prefetch({wanted, trashFor(dstParent) ? 5u : 4u});
          Rename attempt(*this, ctx, tx, flags, {.parent = srcParent, .name = srcName}, {.parent = dstParent, .name = dstName}, charge);
          attempt.movedTree = movedTree;
          attempt.targetTree = targetTree;
          auto outcome = attempt.run();
          result = {attempt.moved, attempt.target};
          source = attempt.moved.ino;
          removal = attempt.removal;
          unchanged = attempt.unchanged;
          needTrees = attempt.needTrees;
          return outcome;
        },
        [&](MetaTxn& tx) -> Result<bool> {
          TRY_ASSIGN(auto at, tx.find<Dentry>(key::dentry(dstParent, dstName)));
          return at && at->ino == source;
        });
    if (!s && needTrees && round < 3) {
      // The move crosses quotas: what the directories hold is counted outside the transaction.
      auto count = [&](Ino ino, std::optional<Summary>& tree) -> Status {
        if (ino == 0) return {};
        TRY_ASSIGN(tree, summary(Context::root(), ino, true, false, {}));
        return {};
      };
      TRY(count(source, movedTree));
      TRY(count(result.replaced, targetTree));
      continue;
    }
    TRY(s);
    if (!unchanged) {
      charge.committed();
      if (removal.ino != 0) removed(removal);
    }
    auto& attr = result.moved.attr;
    if (attr.parent == 0 && attr.nlink > 0) {
      if (auto fresh = getattr(ctx, source)) attr = *fresh;
    } else {
      attr.parent = shown(attr.parent);
    }
    return result;
  }
}

}  // namespace aquifer::meta
