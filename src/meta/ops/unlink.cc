// Removing names: unlink and rmdir.
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

// The links that are left to show for a file that just lost a name.
void showRemaining(Attr& attr) {
  if (attr.parent > kTrashIno && !attr.isDir()) attr.nlink = 0;
}

}  // namespace

Status MetaImpl::checkTrashRemoval(const Context& ctx, Ino parent, std::string_view name) const {
  if (parent == kRootIno && name == kTrashName) return Code::notPermitted;
  if (parent == kTrashIno) return Code::notPermitted;
  if (isTrash(parent) && ctx.uid != 0) return Code::notPermitted;
  return {};
}

Result<Entry> MetaImpl::unlink(const Context& ctx, Ino parent, std::string_view name, bool skipTrash) {
  parent = real(parent);
  TRY(checkTrashRemoval(ctx, parent, name));
  if (config_.readOnly) return Code::readOnly;
  Removal result;
  Charge charge(*this);
  TRY(txn(
      "unlink",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        const Key wanted[] = {key::node(parent), key::dentry(parent, name), subTrashKey(now())};
        tx.prefetch({wanted, trashFor(parent) && !skipTrash ? 3u : 2u});
        TRY_ASSIGN(auto found, tx.lookup(parent, name));
        if (!found) {
          TRY(parentFor(ctx, tx, parent, ParentUse::removing));
          return Code::notFound;
        }
        auto ino = found->dentry.ino;
        if (found->dentry.type == FileType::directory) return Code::notPermitted;
        TRY_ASSIGN(auto dir, parentFor(ctx, tx, parent, ParentUse::removing));
        if (ctx.intent) ctx.intent(ino);
        auto time = now();
        if (!found->attr) {  // damage: a name without a node can only be forgotten
          tx.erase(key::dentry(parent, name));
          touchParent(tx, parent, time);
          result = {.ino = ino, .attr = {.type = found->dentry.type}};
          return {};
        }
        auto& attr = *found->attr;
        TRY(stickyAllows(ctx, dir, attr));
        if ((attr.flags & (kFlagImmutable | kFlagAppend)) != 0) return Code::notPermitted;
        TRY_ASSIGN(result, removeName(tx, parent, name, ino, attr, skipTrash, time, charge));
        touchParent(tx, parent, time);
        if (logging()) log(tx, changelog::unlink(parent, name, result.trash, result.sustained, true, ino));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto entry, tx.find<Dentry>(key::dentry(parent, name)));
        return !entry || entry->ino != result.ino;
      }));
  charge.committed();
  removed(result);
  Entry out{result.ino, result.attr};
  if (out.attr.parent == 0 && out.attr.nlink > 0) {
    if (auto attr = getattr(ctx, out.ino)) out.attr = *attr;  // hard-linked: some of the other names may be in the trash
  } else {
    showRemaining(out.attr);
  }
  return out;
}

Result<Entry> MetaImpl::rmdir(const Context& ctx, Ino parent, std::string_view name, bool skipTrash) {
  parent = real(parent);
  if (name == ".") return Code::invalid;
  if (name == "..") return Code::notEmpty;
  TRY(checkTrashRemoval(ctx, parent, name));
  if (config_.readOnly) return Code::readOnly;
  Removal result;
  Charge charge(*this);
  TRY(txn(
      "rmdir",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        const Key wanted[] = {key::node(parent), key::dentry(parent, name), subTrashKey(now())};
        tx.prefetch({wanted, trashFor(parent) && !skipTrash ? 3u : 2u});
        TRY_ASSIGN(auto found, tx.lookup(parent, name));
        if (!found) {
          TRY(parentFor(ctx, tx, parent, ParentUse::removing));
          return Code::notFound;
        }
        auto ino = found->dentry.ino;
        if (found->dentry.type != FileType::directory) return Code::notDirectory;
        TRY_ASSIGN(auto dir, parentFor(ctx, tx, parent, ParentUse::removing));
        TRY_ASSIGN(bool empty, tx.isEmpty(Kind::dentry, ino));
        if (!empty) return Code::notEmpty;
        if (ctx.intent) ctx.intent(ino);
        auto time = now();
        tx.exclusive(ino);
        if (found->attr) {
          TRY(stickyAllows(ctx, dir, *found->attr));
          TRY_ASSIGN(result, removeName(tx, parent, name, ino, *found->attr, skipTrash, time, charge));
        } else {
          tx.erase(key::dentry(parent, name));
          result = {.ino = ino, .attr = {.type = FileType::directory}, .gone = true};
        }
        if (!isTrash(parent)) {
          tx.addNlink(parent, -1);
          tx.touch(parent, time, 0);
        }
        if (logging()) log(tx, changelog::rmdir(parent, name, result.trash, ino));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto entry, tx.find<Dentry>(key::dentry(parent, name)));
        return !entry || entry->ino != result.ino;
      }));
  charge.committed();
  removed(result);
  return Entry{result.ino, result.attr};
}

}  // namespace aquifer::meta
