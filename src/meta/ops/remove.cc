// What a node goes through when it loses a name: one link less, the trash, kept open without a name, or gone.
#include "base/log.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

// Everything that hangs on a node besides dentries and data.
Status eraseAttachments(MetaTxn& tx, Ino ino, const Attr& attr, bool parentsDerived) {
  std::vector<Key> keys;
  auto collect = [&](const Key& key, const Value&) {
    keys.push_back(key);
    return true;
  };
  TRY(tx.list({.kind = Kind::xattr, .id = ino}, collect));
  if (attr.parent == 0 && !parentsDerived) TRY(tx.list({.kind = Kind::parentCount, .id = ino}, collect));
  for (auto& key : keys) tx.erase(std::move(key));
  if (attr.type == FileType::symlink) tx.erase(key::symlink(ino));
  return {};
}

int64_t dataLength(const Attr& attr) { return attr.isRegular() ? static_cast<int64_t>(attr.length) : 0; }

}  // namespace

Result<bool> MetaImpl::dropNode(MetaTxn& tx, Ino ino, const Attr& attr, Time now, Charge& charge, bool sustainedUntilNow) {
  tx.erase(key::node(ino));
  bool data = attr.isRegular();
  if (data && attr.length == 0 && store_->traits().embedded) {   // where asking costs no trip: most empty files never had bytes
    TRY_ASSIGN(const bool none, tx.isEmpty(Kind::chunk, ino));
    data = !none;
  }
  if (data) tx.put(key::delFile(ino, attr.length), now.sec);
  if (attr.isDir()) {
    tx.erase(key::dirStat(ino));
    tx.erase(key::dirQuota(ino));
  }
  if (!sustainedUntilNow) TRY(eraseAttachments(tx, ino, attr, store_->traits().parentsFromDentries));
  TRY(charge.owner(tx, attr.uid, attr.gid, -spaceOf(attr), -1));
  TRY(charge.volume(tx, -spaceOf(attr), -1));
  return data;
}

Result<Removal> MetaImpl::removeName(MetaTxn& tx, Ino parent, std::string_view name, Ino ino, Attr attr, bool skipTrash, Time now,
                                     Charge& charge) {
  Removal r{.ino = ino};
  if (!skipTrash && (attr.flags & kFlagSkipTrash) == 0 && trashFor(parent)) {
    TRY_ASSIGN(r.trash, subTrash(tx, now, charge));
    if (attr.nlink > 1 && !attr.isDir()) {
      // Two names of one file that differ only after the cut of the trash name: the second is removed for real.
      TRY_ASSIGN(auto taken, tx.find<Dentry>(key::dentry(r.trash, trashName(parent, ino, name))));
      if (taken) r.trash = 0;
    }
  }
  DirStat leaves{-dataLength(attr), -spaceOf(attr), -1};
  tx.erase(key::dentry(parent, name));
  TRY(charge.dir(tx, parent, leaves, false));
  attr.ctime = now;

  if (r.trash != 0) {
    tx.insert(key::dentry(r.trash, trashName(parent, ino, name)), Dentry{attr.type, ino});
    if (attr.parent != 0) {
      attr.parent = r.trash;
    } else {
      tx.add(key::parentCount(ino, r.trash), 1);
      tx.add(key::parentCount(ino, parent), -1);
    }
    charge.stat(tx, r.trash, {-leaves.length, -leaves.space, 1});
    if (attr.isDir()) {
      tx.erase(key::dirStat(ino));
      tx.erase(key::dirQuota(ino));
    }
    tx.put(key::node(ino), attr);
  } else if (!attr.isDir() && attr.nlink > 1) {
    attr.nlink--;
    if (attr.parent == 0) tx.add(key::parentCount(ino, parent), -1);
    tx.put(key::node(ino), attr);
  } else {
    attr.nlink = 0;
    r.sustained = attr.isRegular() && sid() != 0 && open_.isOpen(ino);
    if (r.sustained) {
      TRY(eraseAttachments(tx, ino, attr, store_->traits().parentsFromDentries));
      tx.put(key::node(ino), attr);
      tx.insert(key::sustained(sid(), ino), int64_t{1});
    } else {
      TRY_ASSIGN(r.purge, dropNode(tx, ino, attr, now, charge, false));
      r.gone = true;
    }
  }
  r.attr = attr;
  return r;
}

void MetaImpl::removed(const Removal& r) {
  if (r.attr.isDir()) quotas_.erase({Kind::dirQuota, r.ino});
  if (r.gone && r.attr.isDir()) open_.buried(r.ino, r.attr);
  if (r.purge) purgeLater(r.ino, r.attr.length);
  // Closed between the commit and now: nobody else would delete it before the session ends.
  if (r.sustained && !open_.sustain(r.ino)) {
    if (auto s = dropSustained(sid(), r.ino); !s) LOG_WARN("inode {} is left for the end of the session: {}", r.ino, s.text());
  }
}

}  // namespace aquifer::meta
