// Where a node hangs, and how many links of it callers get to see.
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {
constexpr int kMaxDepth = 100'000;  // longer chains are loops, that is damage
}

Result<std::vector<std::pair<Ino, int64_t>>> MetaImpl::parentCounts(MetaTxn& tx, Ino ino) {
  std::vector<std::pair<Ino, int64_t>> counts;
  TRY(tx.list({.kind = Kind::parentCount, .id = ino}, [&](const Key& key, const Value& value) {
    if (auto* n = std::get_if<int64_t>(&value); n && *n > 0) counts.emplace_back(key.sub, *n);
    return true;
  }));
  return counts;
}

Status MetaImpl::present(MetaTxn& tx, Ino ino, Attr& attr, bool inTrash) {
  if (attr.nlink > 0 && (attr.parent == 0 || attr.parent > kTrashIno)) {
    int64_t hidden = 0;  // links that live in the trash
    if (attr.parent > kTrashIno) {
      hidden = attr.nlink;
    } else {
      TRY_ASSIGN(auto counts, parentCounts(tx, ino));
      for (auto& [parent, count] : counts)
        if (isTrash(parent)) hidden += count;
    }
    if (hidden >= attr.nlink) {
      bool findable = inTrash || !open_.isOpen(ino);
      attr.nlink = !findable ? 0 : attr.isDir() ? attr.nlink : 1;
    } else {
      attr.nlink -= static_cast<uint32_t>(hidden);
    }
  }
  attr.parent = shown(attr.parent);
  return {};
}

Status MetaImpl::presentAfter(Ino ino, Attr& attr) {
  if (attr.parent != 0 && attr.parent <= kTrashIno) {  // the usual case needs no look at the database
    attr.parent = shown(attr.parent);
    return {};
  }
  return read("present", [&](MetaTxn& tx) { return present(tx, ino, attr); });
}

Result<bool> MetaImpl::isBelow(MetaTxn& tx, Ino ino, Ino ancestor) {
  for (int depth = 0; ino != 0; depth++) {
    if (ino == ancestor) return true;
    if (ino == kRootIno || isTrash(ino)) return false;
    if (depth > kMaxDepth) return Status(Code::io, "directory parents form a loop");
    TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(ino), kFieldParent));
    if (!attr) return false;
    ino = attr->parent;
  }
  return false;
}

}  // namespace aquifer::meta
