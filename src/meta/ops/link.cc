// Another name for a file.
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

Result<Entry> MetaImpl::link(const Context& ctx, Ino ino, Ino newParent, std::string_view newName) {
  newParent = real(newParent);
  TRY(checkNewName(newParent, newName));
  if (config_.readOnly) return Code::readOnly;
  Entry entry{.ino = ino};
  bool revived = false;
  Charge charge(*this);
  TRY(txn(
      "link",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        revived = false;
        const Key wanted[] = {key::node(newParent), key::dentry(newParent, newName), key::node(ino)};
        tx.prefetch(wanted);
        TRY_ASSIGN(auto attr, tx.node(ino));
        if (attr.isDir()) return Code::notPermitted;
        TRY(parentFor(ctx, tx, newParent, ParentUse::adding));
        if ((attr.flags & (kFlagImmutable | kFlagAppend)) != 0) return Code::notPermitted;
        TRY_ASSIGN(auto taken, tx.find<Dentry>(key::dentry(newParent, newName)));
        if (taken) return Code::exists;
        auto time = now();
        if (attr.nlink == 0) {
          // Made without a name (O_TMPFILE), or unlinked and still open: alive only for the session that keeps it.
          TRY_ASSIGN(auto mark, tx.find<int64_t>(key::sustained(sid(), ino)));
          if (!mark) return Code::notFound;
          tx.erase(key::sustained(sid(), ino));
          attr.parent = newParent;
          revived = true;
        } else {
          if (attr.parent != 0) tx.add(key::parentCount(ino, attr.parent), 1);
          attr.parent = 0;
          tx.add(key::parentCount(ino, newParent), 1);
        }
        TRY(charge.dir(tx, newParent, {attr.isRegular() ? static_cast<int64_t>(attr.length) : 0, spaceOf(attr), 1}));
        attr.nlink++;
        attr.ctime = time;
        tx.shared(newParent);
        tx.put(key::node(ino), attr);
        tx.insert(key::dentry(newParent, newName), Dentry{attr.type, ino});
        touchParent(tx, newParent, time);
        if (logging()) log(tx, changelog::link(ino, newParent, newName, true, attr.nlink));
        entry.attr = attr;
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto found, tx.find<Dentry>(key::dentry(newParent, newName)));
        return found && found->ino == ino;
      }));
  charge.committed();
  if (revived) open_.revive(ino);
  if (auto attr = entry.attr; presentAfter(ino, attr)) entry.attr = attr;  // with the links that the trash holds left out
  return entry;
}

}  // namespace aquifer::meta
