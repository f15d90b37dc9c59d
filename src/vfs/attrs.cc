// Attributes: what the metadata knows, what this client has written on top, and what the kernel is told.
#include <fmt/format.h>

#include <algorithm>

#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

namespace {
constexpr Seconds kSpecialTimeout{3600};
constexpr int kMaxRounds = 3;   // a file that is written all the time settles on the last answer

meta::Time timeOf(int64_t nanos) { return {nanos / 1'000'000'000, static_cast<uint32_t>(nanos % 1'000'000'000)}; }
}  // namespace

EntryReply VfsImpl::specialReply(Ino ino) {
  EntryReply r;
  r.ino = ino;
  r.attr = special_.attr(ino);
  if (ino == kConfigIno && config_.configJson) r.attr.length = configLength_.load();
  r.attrTimeout = r.entryTimeout = kSpecialTimeout;
  return r;
}

EntryReply VfsImpl::reply(Ino ino, const Attr& attr, int64_t askedAt) {
  EntryReply r;
  r.ino = ino;
  r.attr = attr;
  r.attrTimeout = config_.attrTimeout;
  r.entryTimeout = attr.isDir() ? config_.dirEntryTimeout : config_.entryTimeout;
  auto state = attr.isRegular() ? inodes_.find(ino) : nullptr;
  bool dirty = state && state->dirty.load(std::memory_order_acquire);
  // What is written here shows before it is committed; the trash changes with every removal, behind the kernel's back.
  if (askedAt != 0 && !dirty && !meta::isTrash(ino) && !changes_.changedSince(ino, askedAt))
    r.attrTimeout = coherence_.keepAttr(ino, askedAt, r.attrTimeout, config_.coherentAttr);
  if (!attr.isRegular()) {
    r.blocks512 = (attr.length + 511) / 512;
    return r;
  }
  r.blocks512 = blockCounts_.of(ino, attr, !dirty);
  if (dirty) r.blocks512 = std::min((attr.length + 511) / 512, r.blocks512 + (state->uncommitted.load() + 511) / 512);
  seen_.told(ino, attr);
  return r;
}

EntryReply VfsImpl::named(Ino parent, std::string_view name, int64_t namedAt, EntryReply r) {
  if (namedAt == 0 || meta::isTrash(parent)) return r;
  r.entryTimeout = coherence_.keepName(parent, name, namedAt, r.entryTimeout, r.attr.isDir() ? config_.coherentDirEntry : config_.coherentEntry);
  return r;
}

Result<EntryReply> VfsImpl::noSuchName(Ino parent, std::string_view name, int64_t namedAt) {
  EntryReply none;
  none.entryTimeout = config_.negativeTimeout;
  if (namedAt != 0 && !meta::isTrash(parent))
    none.entryTimeout = coherence_.keepName(parent, name, namedAt, none.entryTimeout, config_.coherentNegative);
  if (none.entryTimeout.count() <= 0) return Code::notFound;
  return none;
}

Attr VfsImpl::withUnflushed(Ino ino, Attr attr, int64_t askedAt) {
  if (!attr.isRegular()) return attr;
  auto state = inodes_.find(ino);
  if (!state) return attr;
  state->learn(attr, askedAt, [&] {
    // Open readers must not go on with old slice lists, nor writers believe in a length that another client has cut.
    data_->invalidate(ino, 0, meta::kMaxFileSize);
    if (auto writer = data_->existingWriter(ino)) writer->truncated(attr.length);
  });
  if (!state->dirty.load(std::memory_order_acquire)) return attr;
  auto writer = data_->existingWriter(ino);
  if (!writer || !writer->dirty()) return attr;
  attr.length = std::max(attr.length, writer->length());
  auto written = timeOf(state->lastWrite.load());
  attr.mtime = std::max(attr.mtime, written);
  attr.ctime = std::max(attr.ctime, written);
  return attr;
}

Result<EntryReply> VfsImpl::settle(const Context& ctx, Ino parent, std::string_view name, meta::Entry entry, int64_t askedAt, int64_t namedAt) {
  for (int round = 0; entry.attr.isRegular() && round < kMaxRounds && changes_.changedSince(entry.ino, askedAt); round++) {
    askedAt = monotonicNanos();
    TRY_ASSIGN(entry.attr, meta_.getattr(ctx, entry.ino));
  }
  return named(parent, name, namedAt, reply(entry.ino, withUnflushed(entry.ino, entry.attr, askedAt), askedAt));
}

Result<Attr> VfsImpl::freshAttr(const Context& ctx, Ino ino, int64_t* asked) {
  for (int round = 0;; round++) {
    int64_t askedAt = monotonicNanos();
    if (asked) *asked = askedAt;
    TRY_ASSIGN(auto attr, meta_.getattr(ctx, ino));
    attr = withUnflushed(ino, attr, askedAt);
    if (!attr.isRegular() || round >= kMaxRounds || !changes_.changedSince(ino, askedAt)) return attr;
  }
}

// A volume that never had a trash has no record of it, but the name leads to an empty directory all the same.
Result<Attr> VfsImpl::trashAttr(const Context& ctx) {
  auto stored = meta_.getattr(ctx, meta::kTrashIno);
  if (!stored.is(Code::notFound)) return stored;
  Attr attr = special_.attr(kStatsIno);   // for its times
  attr.type = meta::FileType::directory;
  attr.mode = 0555;
  attr.uid = attr.gid = 0;
  attr.nlink = 2;
  return attr;
}

Result<EntryReply> VfsImpl::getattr(const Context& ctx, Ino ino, Handle) {
  auto o = op(ctx, OpKind::getattr, isSpecialFile(ino));
  auto run = [&]() -> Result<EntryReply> {
    if (isSpecialFile(ino)) return specialReply(ino);
    if (auto ghost = ghosts_.find(ino)) return reply(ino, *ghost, 0);
    int64_t askedAt = 0;
    TRY_ASSIGN(auto attr, ino == meta::kTrashIno ? trashAttr(ctx) : freshAttr(ctx, ino, &askedAt));
    return reply(ino, attr, askedAt);
  };
  return o.done(run(), [&](auto& r) { return fmt::format("({}):{}", ino, logged(r)); });
}

namespace {
std::string describeSet(const meta::SetAttr& s, uint64_t size, meta::FileType type) {
  using namespace meta;
  std::string t;
  auto add = [&](const std::string& x) { t += (t.empty() ? "" : ",") + x; };
  if (s.mask & kSetMode) add(fmt::format("mode={}:0{:04o}", modeString(typeBits(type) | s.mode), s.mode));
  if (s.mask & kSetUid) add(fmt::format("uid={}", s.uid));
  if (s.mask & kSetGid) add(fmt::format("gid={}", s.gid));
  if (s.mask & kSetAtimeNow) add("atime=NOW");
  else if (s.mask & kSetAtime) add(fmt::format("atime={}", s.atime.sec));
  if (s.mask & kSetMtimeNow) add("mtime=NOW");
  else if (s.mask & kSetMtime) add(fmt::format("mtime={}", s.mtime.sec));
  if (s.mask & kSetSize) add(fmt::format("size={}", size));
  return t;
}
}  // namespace

Result<EntryReply> VfsImpl::setattr(const Context& ctx, Ino ino, Handle fh, bool hasHandle, const meta::SetAttr& set, uint64_t size) {
  auto o = op(ctx, OpKind::setattr);
  auto run = [&]() -> Result<EntryReply> {
    if (isSpecialFile(ino)) return specialReply(ino);   // accepted and without effect, as tools expect
    if (ino == meta::kTrashIno) {
      TRY_ASSIGN(auto attr, trashAttr(ctx));
      return reply(ino, attr, 0);
    }
    if (auto ghost = ghosts_.change(ino, set)) return reply(ino, *ghost, 0);
    if (config_.readOnly) return Code::readOnly;
    int64_t askedAt = monotonicNanos();
    Attr attr;
    meta::SetAttr rest = set;
    rest.mask &= ~uint32_t{meta::kSetSize};
    bool changed = false;
    if (set.mask & meta::kSetSize) {
      TRY_ASSIGN(attr, truncate(ctx, ino, size, hasHandle && isWritable(fh)));
      changed = true;
    }
    if (rest.mask) {
      // Older writes must not overwrite a time that is set now.
      constexpr uint32_t kTimes = meta::kSetAtime | meta::kSetMtime | meta::kSetAtimeNow | meta::kSetMtimeNow;
      if (rest.mask & kTimes)
        if (auto s = flushInode(ctx, ino); s.is(Code::interrupted)) return s;
      askedAt = monotonicNanos();
      TRY_ASSIGN(attr, meta_.setattr(ctx, ino, rest));
      changed = true;
    }
    if (!changed) {
      TRY_ASSIGN(attr, freshAttr(ctx, ino, &askedAt));
      return reply(ino, attr, askedAt);
    }
    auto r = reply(ino, withUnflushed(ino, attr, askedAt), askedAt);
    changes_.changed(ino);
    return r;
  };
  return o.done(run(), [&](auto& r) {
    return fmt::format("({}[{}],0x{:X},[{}]):{}", ino, hasHandle ? fh : 0, set.mask, describeSet(set, size, r ? r->attr.type : meta::FileType::none),
                       logged(r));
  });
}

Status VfsImpl::access(const Context& ctx, Ino ino, uint32_t mask) {
  auto o = op(ctx, OpKind::access, isSpecialFile(ino));
  auto run = [&]() -> Status {
    if (isSpecialFile(ino)) {
      auto a = special_.attr(ino);
      uint32_t shift = ctx.uid == a.uid ? 6 : ctx.inGroup(a.gid) ? 3 : 0;
      if (ctx.uid == 0 || ((a.mode >> shift) & mask & 7) == (mask & 7)) return {};
      return Code::accessDenied;
    }
    if ((mask & 2) && config_.readOnly) return Code::readOnly;
    return meta_.access(ctx, ino, static_cast<uint8_t>(mask & 7));
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},0x{:X})", ino, mask); });
}

}  // namespace aquifer::vfs
