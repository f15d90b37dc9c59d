// Reading directories.
#include <fcntl.h>
#include <fmt/format.h>

#include "vfs/vfs_impl.h"

namespace aquifer::vfs {

namespace {
// Cookies below DirCursor::kStart: the entries that are not in the directory itself.
constexpr uint64_t kAfterDot = 1, kAfterDotDot = 2;
}  // namespace

Result<OpenReply> VfsImpl::opendir(const Context& ctx, Ino ino, uint32_t flags) {
  auto o = op(ctx, OpKind::opendir);
  auto run = [&]() -> Result<OpenReply> {
    if (isSpecialFile(ino)) return Code::notDirectory;
    if (ctx.checkPermission) TRY(meta_.access(ctx, ino, 4));
    if (config_.handleLimit > 0 && handles_.size() >= static_cast<size_t>(config_.handleLimit)) return static_cast<Code>(EMFILE);
    auto file = std::make_shared<OpenFile>(handles_.number(false), ino);
    handles_.add(file);
    if (auto* r = recorder_.load()) r->opened(file->fh, ino, flags | O_DIRECTORY);
    return OpenReply{.fh = file->fh, .keepCache = config_.readdirCache, .cacheDir = config_.readdirCache};
  };
  return o.done(run(), [&](auto& r) { return r ? fmt::format("({}) [fh:{}]", ino, r->fh) : fmt::format("({})", ino); });
}

Status VfsImpl::doReaddir(const Context& ctx, OpenFile& file, uint64_t off, bool plus, const Row& row, size_t* count) {
  if (!file.dir) {
    // Whoever has the directory open was allowed to list it, whatever has become of its mode.
    file.dir = std::make_unique<DirCursor>([this, ino = file.ino](std::string_view after, size_t limit, bool attrs) -> Result<std::vector<meta::DirEntry>> {
      auto page = meta_.readdir(Context::root(), ino, after, limit, attrs);
      if (ino == meta::kTrashIno && page.is(Code::notFound)) return std::vector<meta::DirEntry>();
      return page;
    });
  }
  auto give = [&](std::string_view name, Ino ino, meta::FileType type, uint64_t next) {
    DirRow r{name, ino, type, next, nullptr};
    if (!row(r)) return false;
    ++*count;
    return true;
  };
  if (off < kAfterDot && !give(".", file.ino, meta::FileType::directory, kAfterDot)) return {};
  if (off < kAfterDotDot) {
    if (!file.dirParent) {
      auto attr = meta_.getattr(Context::root(), file.ino);
      if (!attr && file.ino != meta::kTrashIno) return attr.status();
      file.dirParent = file.ino == meta::kRootIno || !attr || !attr->parent ? meta::kRootIno : attr->parent;
    }
    if (!give("..", file.dirParent, meta::FileType::directory, kAfterDotDot)) return {};
  }
  if (off < DirCursor::kStart && file.ino == meta::kRootIno && !config_.hideInternal) {
    uint64_t cookie = kAfterDotDot;
    for (auto& n : special_.listed()) {
      cookie++;
      if (off >= cookie) continue;
      if (!give(n.name, n.ino, n.ino == meta::kTrashIno ? meta::FileType::directory : meta::FileType::regular, cookie)) return {};
    }
  }
  TRY(file.dir->seek(std::max(off, DirCursor::kStart), plus));
  return listEntries(ctx, file, plus, row, count);
}

Status VfsImpl::listEntries(const Context&, OpenFile& file, bool plus, const Row& row, size_t* count) {
  auto& dir = *file.dir;
  // What was listed before a change of ours must not reach the kernel's caches after it.
  if (plus && (!dir.hasAttrs() || changes_.changedSince(file.ino, dir.listedAt()))) TRY(dir.relist(true));
  int64_t counted = 0;   // the page whose block counts were fetched
  while (true) {
    TRY_ASSIGN(auto* e, dir.peek());
    if (!e) return {};
    DirRow r{e->name, e->dentry.ino, e->dentry.type, dir.cookie(), nullptr};
    EntryReply entry;
    if (plus && e->attr && dir.hasAttrs()) {
      if (counted != dir.listedAt()) {
        std::vector<std::pair<Ino, const Attr*>> files;
        for (auto& d : dir.page())
          if (d.attr) files.emplace_back(d.dentry.ino, &*d.attr);
        blockCounts_.prefetch(files);
        counted = dir.listedAt();
      }
      // A child that changed meanwhile goes without attributes: the kernel will ask.
      if (!changes_.changedSince(e->dentry.ino, dir.listedAt()) && !coherence_.changedSince(file.ino, e->dentry.ino, dir.listedAt()) &&
          !ghosts_.find(e->dentry.ino)) {
        auto attr = withUnflushed(e->dentry.ino, *e->attr, dir.listedAt());
        entry = named(file.ino, e->name, dir.listedAt(), reply(e->dentry.ino, attr, dir.listedAt()));
        r.entry = &entry;
      }
    }
    if (!row(r)) return {};
    ++*count;
    dir.advance();
  }
}

Status VfsImpl::readdir(const Context& ctx, Ino ino, Handle fh, uint64_t off, bool plus, const Row& row) {
  auto o = op(ctx, OpKind::readdir);
  size_t count = 0;
  auto run = [&]() -> Status {
    auto file = handles_.find(fh);
    if (!file) {   // from before a restart
      adoptHandle(fh, ino, O_DIRECTORY, false);
      file = handles_.find(fh);
    }
    if (!file || file->ino != ino || file->inode) return Code::badHandle;
    std::lock_guard lock(file->mu);
    return doReaddir(ctx, *file, off, plus, row, &count);
  };
  return o.done(run(), [&](auto&) { return fmt::format("({},{},{},{}): ({})", ino, 0, off, plus, count); });
}

Status VfsImpl::releasedir(const Context& ctx, Ino ino, Handle fh) {
  auto o = op(ctx, OpKind::releasedir);
  if (handles_.remove(fh))
    if (auto* r = recorder_.load()) r->closed(fh);
  return o.done(Status(), [&](auto&) { return fmt::format("({})", ino); });
}

Status VfsImpl::fsyncdir(const Context& ctx, Ino ino, Handle, bool dataOnly) {
  auto o = op(ctx, OpKind::fsyncdir);
  return o.done(meta_.store().sync(), [&](auto&) { return fmt::format("({},{})", ino, dataOnly ? 1 : 0); });
}

}  // namespace aquifer::vfs
