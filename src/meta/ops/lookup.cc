// Names to inodes, and the attributes of inodes.
#include <algorithm>

#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

Result<Entry> MetaImpl::lookup(const Context& ctx, Ino parent, std::string_view name) {
  Entry found;
  if (name.size() > kMaxName) return Code::nameTooLong;
  parent = real(parent);
  TRY(read("lookup", [&](MetaTxn& tx) -> Status {
    bool dots = name == "." || name == "..";
    if (dots || (ctx.checkPermission && ctx.uid != 0)) {
      const Key wanted[] = {key::node(parent), key::dentry(parent, name)};
      tx.prefetch({wanted, dots ? 1u : 2u});
      TRY_ASSIGN(auto dir, tx.node(parent));
      if (!dir.isDir()) return Code::notDirectory;
      TRY(allowed(ctx, tx, dir, 1));
      if (dots) {
        found.ino = name == "." || parent == rootIno_ ? parent : dir.parent;
        TRY_ASSIGN(found.attr, tx.node(found.ino));
        return present(tx, found.ino, found.attr);
      }
    }
    if (parent == kRootIno && name == kTrashName) {
      found.ino = kTrashIno;
      TRY_ASSIGN(found.attr, tx.node(kTrashIno));
      return {};
    }
    TRY_ASSIGN(auto entry, tx.lookup(parent, name));
    if (!entry || !entry->attr) return Code::notFound;
    found = {entry->dentry.ino, *entry->attr};
    return present(tx, found.ino, found.attr, isTrash(parent));
  }));
  found.ino = shown(found.ino);
  return found;
}

Result<Entry> MetaImpl::resolve(const Context& ctx, std::string_view path) {
  Entry at{kRootIno, {}};
  TRY_ASSIGN(at.attr, getattr(ctx, kRootIno));
  while (!path.empty()) {
    auto cut = path.find('/');
    auto part = path.substr(0, cut);
    path = cut == std::string_view::npos ? std::string_view() : path.substr(cut + 1);
    if (part.empty() || part == ".") continue;
    if (!at.attr.isDir()) return Code::notDirectory;
    TRY_ASSIGN(at, lookup(ctx, at.ino, part));
  }
  return at;
}

Result<Attr> MetaImpl::getattr(const Context&, Ino ino) {
  ino = real(ino);
  Attr attr;
  auto s = read("getattr", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(attr, tx.node(ino));
    return present(tx, ino, attr);
  });
  if (s) return attr;
  if (s.is(Code::notFound))
    if (auto tomb = open_.tomb(ino)) return *tomb;
  return s;
}

Result<std::string> MetaImpl::readlink(const Context&, Ino ino) {
  std::string target;
  TRY(read("readlink", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(auto stored, tx.find<std::string>(key::symlink(ino)));
    if (stored) {
      target = std::move(*stored);
      return {};
    }
    TRY_ASSIGN(auto attr, tx.node(ino, kFieldType));
    return attr.type == FileType::symlink ? Status(Code::io, "symbolic link without a target") : Status(Code::invalid);
  }));
  return target;
}

Result<std::vector<DirEntry>> MetaImpl::readdir(const Context& ctx, Ino dir, std::string_view afterName, size_t limit, bool plus) {
  dir = real(dir);
  std::vector<DirEntry> entries;
  auto s = read("readdir", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(auto attr, tx.node(dir));
    if (!attr.isDir()) return Code::notDirectory;
    TRY(allowed(ctx, tx, attr, plus ? 5 : 4));
    TRY_ASSIGN(entries, tx.listDir(dir, afterName, limit, plus));
    for (auto& e : entries)
      if (e.attr) TRY(present(tx, e.dentry.ino, *e.attr, isTrash(dir)));
    return {};
  });
  if (s) return entries;
  if (s.is(Code::notFound) && open_.tomb(dir)) return std::vector<DirEntry>();  // removed while open: empty
  return s;
}

namespace {
// What a volume shows as its size: its own limits, or a size that is always far from full.
StatFs volumeTotals(const Format& format, uint64_t used, uint64_t usedInodes) {
  StatFs out;
  if (format.capacity > 0) {
    out.totalSpace = std::max(format.capacity, used);
  } else {
    out.totalSpace = 1ull << 50;
    while (out.totalSpace / 10 * 8 < used) out.totalSpace *= 2;
  }
  out.availSpace = out.totalSpace - used;
  if (format.inodes > 0) {
    out.availInodes = format.inodes > usedInodes ? format.inodes - usedInodes : 0;
  } else {
    out.availInodes = 10ull << 20;
    while (usedInodes > out.availInodes * 4) out.availInodes *= 2;
  }
  out.totalInodes = usedInodes + out.availInodes;
  return out;
}
}  // namespace

KnownUsage MetaImpl::knownUsage() {
  KnownUsage out;
  out.usedSpace = static_cast<uint64_t>(std::max<int64_t>(quotas_.usedSpace(), 0));
  out.usedInodes = static_cast<uint64_t>(std::max<int64_t>(quotas_.usedInodes(), 0));
  out.volume = volumeTotals(*formatNow(), out.usedSpace, out.usedInodes);
  out.quotas = quotas_.all();
  return out;
}

Result<StatFs> MetaImpl::statfs(const Context&, Ino ino) {
  ino = real(ino);
  int64_t space = quotas_.usedSpace(), inodes = quotas_.usedInodes();
  std::vector<Quota> limits;  // nearest directory first
  TRY(read("statfs", [&](MetaTxn& tx) -> Status {
    limits.clear();
    if (!config_.fastStatfs) {
      const Key both[] = {key::counter(counter::kUsedSpace), key::counter(counter::kTotalInodes)};
      tx.prefetch(both);
      TRY_ASSIGN(auto s, tx.find<int64_t>(key::counter(counter::kUsedSpace)));
      TRY_ASSIGN(auto n, tx.find<int64_t>(key::counter(counter::kTotalInodes)));
      space = s.value_or(0);
      inodes = n.value_or(0);
    }
    Charge charge(*this);
    TRY_ASSIGN(auto dirs, charge.quotasFrom(tx, ino));
    for (auto dir : dirs) {
      TRY_ASSIGN(auto quota, tx.find<Quota>(key::dirQuota(dir)));
      if (quota) limits.push_back(*quota);
    }
    return {};
  }));
  auto used = static_cast<uint64_t>(std::max<int64_t>(space, 0)), usedInodes = static_cast<uint64_t>(std::max<int64_t>(inodes, 0));
  StatFs out = volumeTotals(*formatNow(), used, usedInodes);
  bool nearest = true;
  for (auto& q : limits) {
    if (q.maxSpace > 0) {
      auto left = static_cast<uint64_t>(std::max<int64_t>(q.maxSpace - q.usedSpace, 0));
      if (nearest) used = static_cast<uint64_t>(std::max<int64_t>(q.usedSpace, 0));
      out.availSpace = std::min(out.availSpace, left);
    }
    if (q.maxInodes > 0) {
      auto left = static_cast<uint64_t>(std::max<int64_t>(q.maxInodes - q.usedInodes, 0));
      if (nearest) usedInodes = static_cast<uint64_t>(std::max<int64_t>(q.usedInodes, 0));
      out.availInodes = std::min(out.availInodes, left);
    }
    nearest = false;
  }
  out.totalSpace = used + out.availSpace;
  out.totalInodes = usedInodes + out.availInodes;
  return out;
}

}  // namespace aquifer::meta
