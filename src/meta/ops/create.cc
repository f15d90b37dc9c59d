// New nodes: files, directories, links, devices.
#include "meta/model/acl.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

Status MetaImpl::checkNewName(Ino parent, std::string_view name) const {
  if (name.empty() || name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos) return Code::invalid;
  if (name.size() > kMaxName) return Code::nameTooLong;
  if (name == "." || name == "..") return Code::exists;
  if (isTrash(parent) || (parent == kRootIno && name == kTrashName)) return Code::notPermitted;
  return {};
}

// Mode, group, ACLs, flags and tier that a child gets from its parent.
Status MetaImpl::inherit(const Context& ctx, MetaTxn& tx, const Attr& parent, uint16_t mode, uint16_t umask, Attr& attr) {
  mode &= 07777;
  if (parent.defaultAcl != 0 && attr.type != FileType::symlink) {
    TRY_ASSIGN(auto rule, acls_.rule(tx, parent.defaultAcl));
    if (attr.isDir()) attr.defaultAcl = parent.defaultAcl;
    if (aclMinimal(rule)) {
      mode &= aclToMode(rule, 07000) | 07000;
    } else {
      auto child = aclForChild(rule, mode);
      mode = aclToMode(child, mode);
      TRY_ASSIGN(attr.accessAcl, acls_.idOf(tx, child));
    }
  } else if (attr.type != FileType::symlink) {
    mode &= ~umask;
  }
  attr.gid = ctx.gid;
  if ((parent.mode & 02000) != 0) {
    attr.gid = parent.gid;
    if (attr.isDir())
      mode |= 02000;
    else if ((mode & 02010) == 02010 && ctx.checkPermission && ctx.uid != 0 && !ctx.inGroup(parent.gid))
      mode &= ~02000;
  }
  attr.mode = mode;
  attr.uid = ctx.uid;
  attr.parent = 0;  // the caller knows it
  attr.flags = parent.flags & kFlagSkipTrash;
  attr.tier = parent.tier;
  return {};
}

Result<Entry> MetaImpl::mknod(const Context& ctx, Ino parent, std::string_view name, FileType type, uint16_t mode, uint16_t umask,
                              uint32_t rdev, std::string_view target, Entry* existing, Ino wantIno) {
  if (type < FileType::regular || type > FileType::socket) return Code::invalid;
  parent = real(parent);
  TRY(checkNewName(parent, name));
  if (config_.readOnly) return Code::readOnly;
  if (type == FileType::symlink) {
    if (target.empty() || target.size() > kMaxSymlink || target.find('\0') != std::string_view::npos) return Code::invalid;
    mode = 0777;
  }
  Entry entry{.ino = wantIno};
  if (entry.ino == 0) {
    TRY_ASSIGN(entry.ino, inodes_.next());
  }
  bool isDir = type == FileType::directory;
  Charge charge(*this);

  auto s = txn(
      "create",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        const Key wanted[] = {key::node(parent), key::dentry(parent, name)};
        tx.prefetch(wanted);
        TRY_ASSIGN(auto dir, parentFor(ctx, tx, parent, ParentUse::adding));
        TRY_ASSIGN(auto found, tx.lookup(parent, name));
        if (found) {
          if (existing) {
            *existing = {shown(found->dentry.ino), found->attr.value_or(Attr{.type = found->dentry.type})};
            TRY(present(tx, found->dentry.ino, existing->attr));
          }
          return Code::exists;
        }
        auto time = now();
        Attr attr;
        attr.type = type;
        TRY(inherit(ctx, tx, dir, mode, umask, attr));
        attr.atime = attr.mtime = attr.ctime = time;
        attr.nlink = isDir ? 2 : 1;
        attr.length = isDir ? 4096 : type == FileType::symlink ? target.size() : 0;
        attr.rdev = type == FileType::blockDevice || type == FileType::charDevice ? rdev : 0;
        attr.parent = parent;
        TRY(charge.owner(tx, attr.uid, attr.gid, 4096, 1));
        TRY(charge.volume(tx, 4096, 1));
        TRY(charge.dir(tx, parent, {0, 4096, 1}));
        tx.shared(parent);
        tx.insert(key::node(entry.ino), attr);
        tx.insert(key::dentry(parent, name), Dentry{type, entry.ino});
        if (type == FileType::symlink) tx.insert(key::symlink(entry.ino), std::string(target));
        if (isDir) {
          if (formatNow()->dirStats) tx.insert(key::dirStat(entry.ino), DirStat{});
          tx.addNlink(parent, 1);
          tx.touch(parent, time, 0);
        } else {
          touchParent(tx, parent, time);
        }
        if (logging())
          log(tx, changelog::create(parent, name, attr.uid, attr.gid, type, mode, umask, target, true, entry.ino));
        entry.attr = attr;
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto node, tx.find<Attr>(key::node(entry.ino)));
        return node.has_value();
      });
  TRY(s);
  charge.committed();
  entry.attr.parent = shown(entry.attr.parent);
  return entry;
}

}  // namespace aquifer::meta
