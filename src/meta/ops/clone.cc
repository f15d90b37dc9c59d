// Copies of files and trees that share their slices (docs/formats/metadata.md §10.5). A tree is built detached, without a name,
// and appears complete when it gets one; what a dead process leaves behind is found through the detached set, or for a single
// large file through the session that kept it.
#include <algorithm>

#include "base/log.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr uint8_t kPreserveAttributes = 2;
constexpr size_t kPage = 1000;
constexpr size_t kRecordsPerNode = 8;
constexpr size_t kLocalBudget = 2000;  // records of one transaction of a store without a network
constexpr size_t kMaxDepth = 100'000;

int64_t dataLength(const Attr& a) { return a.isRegular() ? static_cast<int64_t>(a.length) : 0; }

}  // namespace

class CloneTree {
 public:
  CloneTree(MetaImpl& meta, const Context& ctx, uint8_t mode, uint16_t umask, const Progress& progress)
      : meta_(meta), ctx_(ctx), mode_(mode), umask_(umask), progress_(progress) {
    const auto& traits = meta.store().traits();
    budget_ = traits.embedded ? kLocalBudget : traits.maxRecordsPerTxn;
  }

  Status file(Ino src, Ino parent, std::string_view name);
  Status directory(Ino src, Ino parent, std::string_view name);
  void expect(uint64_t nodes) { total_ = nodes; }

 private:
  struct Item {
    std::string name;
    Ino src = 0, dst = 0;
  };
  struct Frame {
    Ino src = 0, dst = 0;
    std::string after;
    bool listed = false;
    std::vector<Item> files, dirs;
  };

  Attr copyOf(const Attr& src, Ino parent, Time now) const {
    Attr a = src;
    a.parent = parent;
    a.nlink = a.isDir() ? 2 : 1;  // links and sub-directories are counted as they come
    if (!(mode_ & kPreserveAttributes)) {
      a.uid = ctx_.uid;
      a.gid = ctx_.gid;
      a.mode &= static_cast<uint16_t>(~umask_);
      a.atime = a.mtime = a.ctime = now;
    }
    return a;
  }

  // The node with everything that hangs on it but data and a name. *records: how many were written.
  Status putNode(MetaTxn& tx, Ino src, Ino dst, const Attr& attr, Charge& charge, size_t* records) {
    std::vector<std::pair<std::string, std::string>> xattrs;
    TRY(tx.list({.kind = Kind::xattr, .id = src}, [&](const Key& key, const Value& value) {
      if (const auto* text = std::get_if<std::string>(&value)) xattrs.emplace_back(key.name, *text);
      return true;
    }));
    if (attr.type == FileType::symlink) {
      TRY_ASSIGN(const auto target, tx.find<std::string>(key::symlink(src)));
      if (!target) return Status(Code::io, "symbolic link without a target");
      tx.insert(key::symlink(dst), *target);
    }
    TRY(charge.owner(tx, attr.uid, attr.gid, spaceOf(attr), 1));
    TRY(charge.volume(tx, spaceOf(attr), 1));
    tx.insert(key::node(dst), attr);
    for (auto& [name, text] : xattrs) tx.insert(key::xattr(dst, name), std::move(text));
    if (attr.isDir() && meta_.formatNow()->dirStats) tx.insert(key::dirStat(dst), DirStat{});
    *records += kRecordsPerNode + xattrs.size();
    return {};
  }

  // The chunks up to the end of the file.
  Result<std::vector<std::pair<uint32_t, SliceList>>> chunksOf(MetaTxn& tx, Ino src, const Attr& attr) {
    std::vector<std::pair<uint32_t, SliceList>> out;
    if (!attr.isRegular() || attr.length == 0) return out;
    const uint64_t last = (attr.length - 1) / kChunkSize;
    TRY(tx.list({.kind = Kind::chunk, .id = src, .below = last + 1}, [&](const Key& key, const Value& value) {
      if (key.sub > last) return false;
      if (const auto* records = std::get_if<SliceList>(&value)) out.emplace_back(static_cast<uint32_t>(key.sub), *records);
      return true;
    }));
    return out;
  }

  Status putChunk(MetaTxn& tx, Ino dst, uint32_t index, const SliceList& records) {
    tx.put(key::chunk(dst, index), records);
    for (const auto& s : records) TRY(meta_.addSliceRef(tx, s.id, s.size, 1));
    return {};
  }

  // Chunk by chunk into a file that nobody can see yet.
  Status copyChunks(Ino src, Ino dst) {
    std::optional<Key> after;
    for (bool more = true; more;) {
      std::optional<Key> reached;
      TRY(meta_.txn(
          "cloneChunks",
          [&](MetaTxn& tx) -> Status {
            more = false;
            reached = after;
            TRY_ASSIGN(const auto attr, tx.node(dst, kFieldLength));
            if (attr.length == 0) return {};
            size_t records = 0;
            std::vector<std::pair<Key, SliceList>> found;
            TRY(tx.list({.kind = Kind::chunk, .id = src, .after = after, .below = chunksIn(attr.length)}, [&](const Key& key, const Value& value) {
              if (key.sub > (attr.length - 1) / kChunkSize) return false;
              const auto* list = std::get_if<SliceList>(&value);
              if (!list) return true;
              more = !found.empty() && records + list->size() > budget_;
              if (more) return false;
              records += list->size() + 1;
              found.emplace_back(key, *list);
              return true;
            }));
            for (const auto& [key, list] : found) {
              TRY(putChunk(tx, dst, static_cast<uint32_t>(key.sub), list));
              reached = key;
            }
            return {};
          },
          [&](MetaTxn& tx) -> Result<bool> {
            if (!reached || reached == after) return false;
            TRY_ASSIGN(const auto there, tx.find<SliceList>(key::chunk(dst, static_cast<uint32_t>(reached->sub))));
            return there.has_value();
          }));
      after = reached;
      if (ctx_.isInterrupted()) return Code::interrupted;
    }
    return {};
  }

  Status fill(Ino src, Ino dst);
  Status cloneFiles(Frame& f);
  Status makeDir(const Item& item, Ino parent, bool detached);
  Status attach(Ino dst, Ino parent, std::string_view name);
  Status checkTarget(MetaTxn& tx, Ino parent, std::string_view name);
  Status largeFile(Ino src, Ino dst, Ino parent, std::string_view name);

  Status step(uint64_t nodes) {
    done_ += nodes;
    if (ctx_.isInterrupted() || (progress_ && !progress_(done_, std::max(total_, done_)))) return Code::interrupted;
    return {};
  }

  MetaImpl& meta_;
  const Context& ctx_;
  const uint8_t mode_;
  const uint16_t umask_;
  const Progress& progress_;
  size_t budget_ = 1;
  uint64_t done_ = 0, total_ = 0;
  int64_t space_ = 0, inodes_ = 0;  // below the top directory, so far
};

Status CloneTree::checkTarget(MetaTxn& tx, Ino parent, std::string_view name) {
  TRY(meta_.parentFor(ctx_, tx, parent, MetaImpl::ParentUse::adding));
  TRY_ASSIGN(const auto found, tx.find<Dentry>(key::dentry(parent, name)));
  return found ? Status(Code::exists) : Status();
}

Status CloneTree::file(Ino src, Ino parent, std::string_view name) {
  TRY_ASSIGN(const Ino dst, meta_.allocateIno());
  bool large = false;
  Charge charge(meta_);
  TRY(meta_.txn(
      "clone",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        large = false;
        TRY(checkTarget(tx, parent, name));
        TRY_ASSIGN(const auto old, tx.node(src));
        TRY(meta_.allowed(ctx_, tx, old, 4));
        TRY_ASSIGN(const auto chunks, chunksOf(tx, src, old));
        size_t records = 0;
        for (const auto& c : chunks) records += c.second.size() + 1;
        if (records > budget_ && meta_.sid() != 0) {
          large = true;
          return {};
        }
        const Time now = MetaImpl::now();
        const Attr attr = copyOf(old, parent, now);
        TRY(putNode(tx, src, dst, attr, charge, &records));
        for (const auto& [index, list] : chunks) TRY(putChunk(tx, dst, index, list));
        TRY(charge.dir(tx, parent, {dataLength(attr), spaceOf(attr), 1}));
        tx.shared(parent);
        tx.insert(key::dentry(parent, name), Dentry{attr.type, dst});
        meta_.touchParent(tx, parent, now);
        if (meta_.logging()) meta_.log(tx, changelog::clone(src, parent, name, dst, mode_, umask_, true));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(const auto there, tx.find<Attr>(key::node(dst)));
        return there.has_value();
      }));
  if (large) return largeFile(src, dst, parent, name);
  charge.committed();
  return step(1);
}

// More records than one transaction should hold: the copy is filled while the session keeps it, unlinked, and named at the end.
Status CloneTree::largeFile(Ino src, Ino dst, Ino parent, std::string_view name) {
  const SessionId sid = meta_.sid();
  Charge charge(meta_);
  const auto there = [&](MetaTxn& tx) -> Result<bool> {
    TRY_ASSIGN(const auto node, tx.find<Attr>(key::node(dst)));
    return node.has_value();
  };
  TRY(meta_.txn(
      "clone",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY_ASSIGN(const auto old, tx.node(src));
        Attr attr = copyOf(old, 0, MetaImpl::now());
        attr.nlink = 0;
        size_t records = 0;
        TRY(putNode(tx, src, dst, attr, charge, &records));
        tx.insert(key::sustained(sid, dst), int64_t{1});
        return {};
      },
      there));
  charge.committed();
  Charge naming(meta_);
  auto s = copyChunks(src, dst);
  if (s)
    s = meta_.txn(
        "cloneAttach",
        [&](MetaTxn& tx) -> Status {
          naming.reset();
          TRY(checkTarget(tx, parent, name));
          TRY_ASSIGN(auto attr, tx.node(dst));
          attr.parent = parent;
          attr.nlink = 1;
          TRY(naming.dir(tx, parent, {dataLength(attr), spaceOf(attr), 1}));
          tx.shared(parent);
          tx.put(key::node(dst), attr);
          tx.erase(key::sustained(sid, dst));
          tx.insert(key::dentry(parent, name), Dentry{attr.type, dst});
          meta_.touchParent(tx, parent, MetaImpl::now());
          if (meta_.logging()) meta_.log(tx, changelog::clone(src, parent, name, dst, mode_, umask_, true));
          return {};
        },
        [&](MetaTxn& tx) -> Result<bool> {
          TRY_ASSIGN(const auto node, tx.find<Attr>(key::node(dst)));
          return node && node->nlink > 0;
        });
  if (!s) {
    if (auto dropped = meta_.dropSustained(sid, dst); !dropped) LOG_WARN("unfinished clone {}: {}", dst, dropped.text());
    return s;
  }
  naming.committed();
  return step(1);
}

Status CloneTree::makeDir(const Item& item, Ino parent, bool detached) {
  Charge charge(meta_);
  TRY(meta_.txn(
      "cloneDir",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY_ASSIGN(const auto old, tx.node(item.src));
        if (!old.isDir()) return Code::notDirectory;
        TRY(meta_.allowed(ctx_, tx, old, 5));
        // A detached top has no parent yet: no quota on the way up may be charged for it or for what comes below.
        const Attr attr = copyOf(old, detached ? 0 : parent, MetaImpl::now());
        size_t records = 0;
        TRY(putNode(tx, item.src, item.dst, attr, charge, &records));
        if (detached) {
          tx.put(key::detached(item.dst), MetaImpl::now().sec);
        } else {
          tx.insert(key::dentry(parent, item.name), Dentry{FileType::directory, item.dst});
          tx.addNlink(parent, 1);
          charge.stat(tx, parent, {0, spaceOf(attr), 1});
        }
        if (meta_.logging()) meta_.log(tx, changelog::clone(item.src, parent, item.name, item.dst, mode_, umask_, detached));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(const auto there, tx.find<Attr>(key::node(item.dst)));
        return there.has_value();
      }));
  charge.committed();
  return {};
}

// As many files off the end of f.files as one transaction takes.
Status CloneTree::cloneFiles(Frame& f) {
  Charge charge(meta_);
  std::vector<std::pair<Ino, Ino>> large;
  size_t taken = 0;
  int64_t space = 0, inodes = 0;
  Ino any = 0;  // one of the new files
  TRY(meta_.txn(
      "cloneFiles",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        large.clear();
        taken = 0;
        space = inodes = 0;
        any = 0;
        size_t records = 0;
        DirStat sum;
        const Time now = MetaImpl::now();
        for (auto item = f.files.rbegin(); item != f.files.rend() && records < budget_; ++item) {
          TRY_ASSIGN(const auto old, tx.find<Attr>(key::node(item->src)));
          if (!old || old->isDir()) {  // removed since it was listed
            ++taken;
            continue;
          }
          TRY(meta_.allowed(ctx_, tx, *old, 4));
          TRY_ASSIGN(const auto chunks, chunksOf(tx, item->src, *old));
          size_t more = 0;
          for (const auto& c : chunks) more += c.second.size() + 1;
          if (taken > 0 && records + more > budget_) break;
          const Attr attr = copyOf(*old, f.dst, now);
          TRY(putNode(tx, item->src, item->dst, attr, charge, &records));
          if (more > budget_) {
            large.emplace_back(item->src, item->dst);
          } else {
            for (const auto& [index, list] : chunks) TRY(putChunk(tx, item->dst, index, list));
            records += more;
          }
          tx.insert(key::dentry(f.dst, item->name), Dentry{attr.type, item->dst});
          if (meta_.logging()) meta_.log(tx, changelog::clone(item->src, f.dst, item->name, item->dst, mode_, umask_, false));
          sum.length += dataLength(attr);
          sum.space += spaceOf(attr);
          sum.inodes += 1;
          any = item->dst;
          ++taken;
        }
        space = sum.space;
        inodes = sum.inodes;
        charge.stat(tx, f.dst, sum);
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        if (any == 0) return true;
        TRY_ASSIGN(const auto there, tx.find<Attr>(key::node(any)));
        return there.has_value();
      }));
  charge.committed();
  space_ += space;
  inodes_ += inodes;
  for (const auto& [src, dst] : large) TRY(copyChunks(src, dst));
  f.files.resize(f.files.size() - taken);
  return step(static_cast<uint64_t>(inodes));
}

Status CloneTree::fill(Ino src, Ino dst) {
  std::vector<Frame> stack;
  stack.push_back({.src = src, .dst = dst});
  while (!stack.empty()) {
    auto& top = stack.back();
    if (!top.files.empty()) {
      TRY(cloneFiles(top));
    } else if (!top.dirs.empty()) {
      Item item = std::move(top.dirs.back());
      top.dirs.pop_back();
      if (stack.size() > kMaxDepth) return Status(Code::io, "directories are nested too deeply");
      if (auto s = makeDir(item, top.dst, false); s.is(Code::notFound))
        continue;  // removed since it was listed
      else
        TRY(s);
      space_ += 4096;
      inodes_ += 1;
      TRY(step(1));
      stack.push_back({.src = item.src, .dst = item.dst});
    } else if (!top.listed) {
      std::vector<DirEntry> page;
      TRY(meta_.read("clone", [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(page, tx.listDir(top.src, top.after, kPage, false));
        return {};
      }));
      top.listed = page.size() < kPage;
      if (!page.empty()) top.after = page.back().name;
      for (auto& e : page) {
        TRY_ASSIGN(const Ino ino, meta_.allocateIno());
        (e.dentry.type == FileType::directory ? top.dirs : top.files).push_back({std::move(e.name), e.dentry.ino, ino});
      }
    } else {
      stack.pop_back();
    }
  }
  return {};
}

Status CloneTree::attach(Ino dst, Ino parent, std::string_view name) {
  Charge charge(meta_);
  TRY(meta_.txn(
      "attach",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY(checkTarget(tx, parent, name));
        TRY_ASSIGN(auto attr, tx.node(dst));
        attr.parent = parent;
        tx.put(key::node(dst), attr);
        charge.stat(tx, parent, {0, 4096, 1});
        TRY_ASSIGN(const auto limited, charge.quotasFrom(tx, parent));
        for (const Ino dir : limited) TRY(charge.dirQuota(tx, dir, space_ + 4096, inodes_ + 1, true));
        tx.shared(parent);
        tx.insert(key::dentry(parent, name), Dentry{FileType::directory, dst});
        tx.addNlink(parent, 1);
        tx.touch(parent, MetaImpl::now(), 0);
        tx.erase(key::detached(dst));
        if (meta_.logging()) meta_.log(tx, changelog::attach(dst, parent, name));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(const auto mark, tx.find<int64_t>(key::detached(dst)));
        return !mark;
      }));
  charge.committed();
  return {};
}

Status CloneTree::directory(Ino src, Ino parent, std::string_view name) {
  TRY_ASSIGN(const Ino dst, meta_.allocateIno());
  TRY(makeDir({std::string(name), src, dst}, parent, true));
  auto s = step(1);
  if (s) s = fill(src, dst);
  if (s) s = attach(dst, parent, name);
  if (!s)
    if (auto removed = meta_.removeDetached(dst); !removed) LOG_WARN("unfinished clone {}: {}", dst, removed.text());
  return s;
}

Status MetaImpl::removeDetached(Ino ino) {
  TRY(emptyDir(Context::root(), ino, true, {}));
  Charge charge(*this);
  TRY(txn(
      "removeDetached",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY_ASSIGN(const auto mark, tx.find<int64_t>(key::detached(ino)));
        if (!mark) return {};
        tx.exclusive(ino);
        TRY_ASSIGN(const bool empty, tx.isEmpty(Kind::dentry, ino));
        if (!empty) return Code::notEmpty;
        TRY_ASSIGN(const auto attr, tx.find<Attr>(key::node(ino)));
        tx.erase(key::detached(ino));
        if (logging()) log(tx, changelog::cleanup(ino));
        if (attr) TRY(dropNode(tx, ino, *attr, now(), charge, false));
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; }));
  charge.committed();
  return {};
}

Status MetaImpl::clone(const Context& ctx, Ino src, Ino dstParent, std::string_view dstName, uint8_t mode, uint16_t umask,
                       int /*threads*/, const Progress& progress) {
  src = real(src);
  dstParent = real(dstParent);
  TRY(checkNewName(dstParent, dstName));
  if (config_.readOnly) return Code::readOnly;
  if (isTrash(src)) return Code::notPermitted;
  Attr attr;
  TRY(read("clone", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(attr, tx.node(src));
    TRY(allowed(ctx, tx, attr, attr.isDir() ? 5 : 4));
    TRY(parentFor(ctx, tx, dstParent, ParentUse::adding));
    TRY_ASSIGN(const auto found, tx.find<Dentry>(key::dentry(dstParent, dstName)));
    return found ? Status(Code::exists) : Status();
  }));
  CloneTree tree(*this, ctx, mode, umask, progress);
  if (!attr.isDir()) return tree.file(src, dstParent, dstName);

  // Refused early when the whole cannot fit; each transaction checks again for what it adds.
  TRY_ASSIGN(const auto sum, summary(ctx, src, true, false, {}));
  tree.expect(sum.files + sum.dirs);
  const auto fits = [](int64_t used, uint64_t more, int64_t most) {
    return most <= 0 || used + static_cast<int64_t>(more) <= most;
  };
  const auto volume = formatNow();
  if (!fits(quotas_.usedSpace(), sum.size, static_cast<int64_t>(volume->capacity)) ||
      !fits(quotas_.usedInodes(), sum.files + sum.dirs, static_cast<int64_t>(volume->inodes)))
    return Code::noSpace;
  TRY(read("clone", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(const auto limited, Charge(*this).quotasFrom(tx, dstParent));
    for (const Ino dir : limited) {
      const auto q = quotas_.get({Kind::dirQuota, dir});
      if (q && (!fits(q->usedSpace, sum.size, q->maxSpace) || !fits(q->usedInodes, sum.files + sum.dirs, q->maxInodes)))
        return Code::quotaExceeded;
    }
    return {};
  }));
  return tree.directory(src, dstParent, dstName);
}

}  // namespace aquifer::meta
