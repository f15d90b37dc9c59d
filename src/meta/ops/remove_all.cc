// Recursive removal: depth first, page by page, the files of a page in few transactions. Memory grows with depth only.
#include "base/log.h"
#include "meta/jobs/cleanup.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr size_t kPage = 1000;
constexpr size_t kRecordsPerFile = 10;  // node, entry, trash entry, statistics, counters, attachments
constexpr size_t kLocalBatch = 100;     // files in one transaction of a store without a network
constexpr int kMaxPasses = 3;           // over a directory in which others go on creating
constexpr size_t kMaxDepth = 100'000;

struct Frame {
  Ino ino = 0, parent = 0;
  std::string name;   // in parent
  std::string after;  // listed up to here
  bool listed = false;
  int passes = 0;
  std::vector<std::string> files;  // of the current page, still there
  std::vector<std::pair<std::string, Ino>> dirs;
};

class Remover {
 public:
  Remover(MetaImpl& meta, const Context& ctx, bool skipTrash, const MetaImpl::Step& step)
      : meta_(meta), ctx_(ctx), skipTrash_(skipTrash), step_(step) {
    const auto& traits = meta.store().traits();
    batch_ = traits.embedded ? kLocalBatch : std::max<size_t>(1, traits.maxRecordsPerTxn / kRecordsPerFile);
  }

  // Everything below dir; with a name the directory itself at the end.
  Status run(Ino dir, Ino parent, const std::string& name) {
    std::vector<Frame> stack;
    stack.push_back({.ino = dir, .parent = parent, .name = name});
    while (!stack.empty()) {
      auto& top = stack.back();
      if (!top.files.empty()) {
        TRY(removeFiles(top));
      } else if (!top.dirs.empty()) {
        auto [child, ino] = std::move(top.dirs.back());
        top.dirs.pop_back();
        if (stack.size() > kMaxDepth) return Status(Code::io, "directories are nested too deeply");
        const Ino from = top.ino;
        stack.push_back({.ino = ino, .parent = from, .name = std::move(child)});
      } else if (!top.listed) {
        TRY(listPage(top));
      } else {
        TRY_ASSIGN(const bool done, finish(top));
        if (done) stack.pop_back();
      }
    }
    return {};
  }

 private:
  Status listPage(Frame& f) {
    std::vector<DirEntry> page;
    auto s = meta_.read("removeAll", [&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(const auto attr, tx.node(f.ino));
      TRY(meta_.allowed(ctx_, tx, attr, 7));
      TRY_ASSIGN(page, tx.listDir(f.ino, f.after, kPage, false));
      return {};
    });
    if (s.is(Code::notFound))
      page.clear();  // somebody else was faster
    else
      TRY(s);
    f.listed = page.size() < kPage;
    if (!page.empty()) f.after = page.back().name;
    for (auto& e : page) {
      if (e.dentry.type == FileType::directory)
        f.dirs.emplace_back(std::move(e.name), e.dentry.ino);
      else
        f.files.push_back(std::move(e.name));
    }
    return {};
  }

  // One batch off the end of f.files.
  Status removeFiles(Frame& f) {
    const size_t n = std::min(batch_, f.files.size());
    const std::vector<std::string> names(f.files.end() - static_cast<long>(n), f.files.end());
    std::vector<Removal> removals;
    std::vector<std::pair<std::string, Ino>> dirs;
    Charge charge(meta_);
    TRY(meta_.txn(
        "removeBatch",
        [&](MetaTxn& tx) -> Status {
          charge.reset();
          removals.clear();
          dirs.clear();
          std::vector<Key> wanted{key::node(f.ino)};
          for (const auto& name : names) wanted.push_back(key::dentry(f.ino, name));
          tx.prefetch(wanted);
          auto parent = meta_.parentFor(ctx_, tx, f.ino, MetaImpl::ParentUse::removing);
          if (parent.is(Code::notFound)) return {};  // the directory has gone, and its entries with it
          TRY(parent);
          const Time now = MetaImpl::now();
          std::vector<std::string> trashed, gone;
          std::vector<Ino> trashedInos, goneInos;
          Ino trash = 0;
          for (const auto& name : names) {
            TRY_ASSIGN(const auto found, tx.lookup(f.ino, name));
            if (!found) continue;
            if (found->dentry.type == FileType::directory) {
              dirs.emplace_back(name, found->dentry.ino);
              continue;
            }
            if (!found->attr) {  // an entry without a node: only the entry is left to remove
              tx.erase(key::dentry(f.ino, name));
              continue;
            }
            TRY(meta_.stickyAllows(ctx_, *parent, *found->attr));
            if (found->attr->flags & (kFlagImmutable | kFlagAppend)) return Code::notPermitted;
            TRY_ASSIGN(auto r, meta_.removeName(tx, f.ino, name, found->dentry.ino, *found->attr, skipTrash_, now, charge));
            if (r.trash != 0) trash = r.trash;
            (r.trash != 0 ? trashed : gone).push_back(name);
            (r.trash != 0 ? trashedInos : goneInos).push_back(r.ino);
            removals.push_back(std::move(r));
          }
          if (removals.empty()) return {};
          meta_.touchParent(tx, f.ino, now);
          if (meta_.logging()) {
            if (!trashed.empty()) meta_.log(tx, changelog::unlinkBatch(f.ino, trashed, trash, true, trashedInos));
            if (!gone.empty()) meta_.log(tx, changelog::unlinkBatch(f.ino, gone, 0, true, goneInos));
          }
          return {};
        },
        [&](MetaTxn& tx) -> Result<bool> { return removals.empty() ? true : happened(tx, f.ino, removals.front()); }));
    charge.committed();
    for (const auto& r : removals) meta_.removed(r);
    f.files.resize(f.files.size() - n);
    for (auto& d : dirs) f.dirs.push_back(std::move(d));
    return step(removals.size());
  }

  // Was this removal committed? Each kind is told by what only it leaves behind: taking the removal by somebody else for ours
  // could delete the data of a file that still has a name.
  Result<bool> happened(MetaTxn& tx, Ino dir, const Removal& r) {
    TRY_ASSIGN(const auto node, tx.find<Attr>(key::node(r.ino)));
    if (r.gone || !node) return !node;
    if (r.sustained) {
      TRY_ASSIGN(const auto mark, tx.find<int64_t>(key::sustained(meta_.sid(), r.ino)));
      return mark.has_value();
    }
    if (r.attr.parent != 0) return node->parent != dir;
    return node->ctime == r.attr.ctime;
  }

  // True when the frame is done.
  Result<bool> finish(Frame& f) {
    ++f.passes;
    if (f.name.empty()) {
      bool empty = true;
      TRY(meta_.read("removeAll", [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(empty, tx.isEmpty(Kind::dentry, f.ino));
        return {};
      }));
      if (empty) return true;
      if (f.passes >= kMaxPasses) return Code::notEmpty;
    } else {
      Status s = f.parent == kTrashIno ? removeTrashHour(meta_, f.name, f.ino) : meta_.rmdir(ctx_, f.parent, f.name, skipTrash_).status();
      if (s || s.is(Code::notFound)) {
        TRY(step(1));
        return true;
      }
      if (!s.is(Code::notEmpty) || f.passes >= kMaxPasses) return s;
    }
    f.after.clear();
    f.listed = false;
    return false;
  }

  Status step(uint64_t nodes) {
    if (ctx_.isInterrupted() || (step_ && !step_(nodes))) return Code::interrupted;
    return {};
  }

  MetaImpl& meta_;
  const Context& ctx_;
  const bool skipTrash_;
  const MetaImpl::Step& step_;
  size_t batch_ = 1;
};

}  // namespace

Status MetaImpl::emptyDir(const Context& ctx, Ino dir, bool skipTrash, const Step& step) {
  return Remover(*this, ctx, skipTrash, step).run(dir, 0, {});
}

Status MetaImpl::removeAll(const Context& ctx, Ino parent, std::string_view name, bool skipTrash, int /*threads*/,
                           const Progress& progress) {
  if (config_.readOnly) return Code::readOnly;
  if (name.empty() || name == ".") return Code::invalid;
  if (name == "..") return Code::notEmpty;
  parent = real(parent);
  const bool wholeTrash = parent == kRootIno && name == kTrashName;
  if ((isTrash(parent) || wholeTrash) && ctx.uid != 0) return Code::notPermitted;
  uint64_t done = 0;
  const Step step = [&](uint64_t nodes) {
    done += nodes;
    return !progress || progress(done, done);
  };
  if (wholeTrash) return Remover(*this, ctx, true, step).run(kTrashIno, kRootIno, {});  // what is in it; the trash itself stays
  std::optional<LookupResult> found;
  TRY(read("removeAll", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(const auto dir, tx.node(parent));
    if (!dir.isDir()) return Code::notDirectory;
    TRY(allowed(ctx, tx, dir, 3));
    TRY_ASSIGN(found, tx.lookup(parent, name));
    return {};
  }));
  if (!found) return Code::notFound;
  if (found->dentry.type != FileType::directory) {
    TRY(unlink(ctx, parent, name, skipTrash));
    (void)step(1);
    return {};
  }
  return Remover(*this, ctx, skipTrash, step).run(found->dentry.ino, parent, std::string(name));
}

}  // namespace aquifer::meta
