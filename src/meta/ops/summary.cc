// How much lies below a directory. The fast way takes the statistics of each directory and lists only those with
// sub-directories; the strict way adds up every entry.
#include <algorithm>
#include <memory>

#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr size_t kPage = 1000;
constexpr const char* kRest = "...";

void addNode(Summary& sum, const Attr& attr) {
  if (attr.isDir())
    ++sum.dirs;
  else
    ++sum.files;
  sum.size += static_cast<uint64_t>(spaceOf(attr));
  if (attr.isRegular()) sum.length += attr.length;
}

// Every entry of a directory in pages, each page in a transaction of its own and visited outside of it.
Status eachEntry(MetaImpl& meta, Ino dir, bool plus, const std::function<Status(DirEntry&)>& visit) {
  std::string after;
  for (;;) {
    std::vector<DirEntry> page;
    TRY(meta.read("summary", [&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(page, tx.listDir(dir, after, kPage, plus));
      return {};
    }));
    for (auto& e : page) TRY(visit(e));
    if (page.size() < kPage) return {};
    after = page.back().name;
  }
}

class Counter {
 public:
  Counter(MetaImpl& meta, bool strict, const Progress& progress)
      : meta_(meta), strict_(strict || !meta.formatNow()->dirStats), progress_(progress) {}

  // Adds the children of `dir` to `sum`; with `below` those of all directories under it too.
  Status children(Ino dir, bool below, Summary& sum) {
    std::vector<Ino> todo{dir};  // as deep as the tree is wide at its open ends; inodes only
    while (!todo.empty()) {
      const Ino at = todo.back();
      todo.pop_back();
      TRY(oneDir(at, below ? &todo : nullptr, sum));
      if (progress_ && !progress_(sum.files + sum.dirs, sum.size)) return Code::interrupted;
    }
    return {};
  }

 private:
  Status oneDir(Ino dir, std::vector<Ino>* todo, Summary& sum) {
    bool list = true;
    if (!strict_) {
      TRY(meta_.read("summary", [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(const auto attr, tx.find<Attr>(key::node(dir), kFieldNlink));
        TRY_ASSIGN(const auto stat, tx.find<DirStat>(key::dirStat(dir)));
        if (stat) {
          sumUp_ = *stat;
        } else {
          TRY_ASSIGN(sumUp_, meta_.countChildren(tx, dir));
        }
        list = !attr || attr->nlink != 2;
        return {};
      }));
      sum.size += static_cast<uint64_t>(std::max<int64_t>(sumUp_.space, 0));
      sum.length += static_cast<uint64_t>(std::max<int64_t>(sumUp_.length, 0));
      if (!list) {
        sum.files += static_cast<uint64_t>(std::max<int64_t>(sumUp_.inodes, 0));
        return {};
      }
    }
    return eachEntry(meta_, dir, strict_, [&](DirEntry& e) -> Status {
      if (strict_) {
        if (!e.attr) return {};
        addNode(sum, *e.attr);
      } else if (e.dentry.type == FileType::directory) {
        ++sum.dirs;
      } else {
        ++sum.files;
      }
      if (todo && e.dentry.type == FileType::directory) todo->push_back(e.dentry.ino);
      return {};
    });
  }

  MetaImpl& meta_;
  const bool strict_;
  const Progress& progress_;
  DirStat sumUp_;
};

TreeSummary leaf(Ino ino, std::string path, FileType type, const Summary& sum) {
  return {ino, std::move(path), type, sum.size, sum.files, sum.dirs, {}};
}

// The largest topN stay; the others become one line.
void fold(std::vector<TreeSummary>& children, size_t topN, const std::string& prefix) {
  std::stable_sort(children.begin(), children.end(), [](const TreeSummary& a, const TreeSummary& b) { return a.size > b.size; });
  if (children.size() <= topN) return;
  TreeSummary rest{0, prefix + kRest, FileType::regular, 0, 0, 0, {}};
  for (size_t i = topN; i < children.size(); ++i) {
    rest.size += children[i].size;
    rest.files += children[i].files;
    rest.dirs += children[i].dirs;
  }
  children.resize(topN);
  children.push_back(std::move(rest));
}

class Tree {
 public:
  Tree(MetaImpl& meta, int topN, bool strict, const Progress& progress)
      : meta_(meta), topN_(static_cast<size_t>(std::max(topN, 0))), count_(meta, strict, quiet_), progress_(progress) {}

  // Fills in a directory whose own node is counted already. The depth is a small number given by a person.
  Status fill(TreeSummary& node, int depth) {
    if (depth <= 0) {
      Summary sum;
      TRY(count_.children(node.ino, true, sum));
      return add(node, sum);
    }
    const std::string prefix = node.path.empty() ? "" : node.path + "/";
    // Folded whenever twice the wanted number is there, so that a huge directory does not have to fit in memory.
    TreeSummary folded{0, prefix + kRest, FileType::regular, 0, 0, 0, {}};
    bool anyFolded = false;
    std::vector<TreeSummary> kept;
    TRY(eachEntry(meta_, node.ino, true, [&](DirEntry& e) -> Status {
      if (!e.attr) return {};
      Summary own;
      addNode(own, *e.attr);
      kept.push_back(leaf(e.dentry.ino, prefix + e.name, e.attr->type, own));
      if (e.attr->isDir()) TRY(fill(kept.back(), depth - 1));
      if (kept.size() <= 2 * topN_ + kPage) return {};
      fold(kept, topN_, prefix);
      absorb(folded, kept.back());
      anyFolded = true;
      kept.pop_back();
      return {};
    }));
    for (const auto& c : kept) absorb(node, c);
    absorb(node, folded);
    fold(kept, topN_, prefix);
    if (anyFolded) {
      if (kept.size() > topN_)
        absorb(kept.back(), folded);
      else
        kept.push_back(folded);
    }
    node.children = std::move(kept);
    return tick(node.files + node.dirs, node.size);
  }

 private:
  static void absorb(TreeSummary& into, const TreeSummary& from) {
    into.size += from.size;
    into.files += from.files;
    into.dirs += from.dirs;
  }
  Status add(TreeSummary& node, const Summary& sum) {
    node.size += sum.size;
    node.files += sum.files;
    node.dirs += sum.dirs;
    return tick(node.files + node.dirs, node.size);
  }
  Status tick(uint64_t nodes, uint64_t size) {
    return !progress_ || progress_(nodes, size) ? Status() : Status(Code::interrupted);
  }

  MetaImpl& meta_;
  const size_t topN_;
  const Progress quiet_;
  Counter count_;
  const Progress& progress_;
};

}  // namespace

Result<DirStat> MetaImpl::countChildren(MetaTxn& tx, Ino dir) {
  DirStat stat;
  std::string after;
  for (;;) {
    TRY_ASSIGN(const auto page, tx.listDir(dir, after, kPage, true));
    for (const auto& e : page) {
      if (!e.attr) continue;
      stat.space += spaceOf(*e.attr);
      stat.inodes += 1;
      if (e.attr->isRegular()) stat.length += static_cast<int64_t>(e.attr->length);
    }
    if (page.size() < kPage) return stat;
    after = page.back().name;
  }
}

Result<Summary> MetaImpl::summary(const Context&, Ino ino, bool recursive, bool strict, const Progress& progress) {
  ino = real(ino);
  Attr attr;
  TRY(read("summary", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(attr, tx.node(ino));
    return {};
  }));
  Summary sum;
  addNode(sum, attr);
  if (attr.isDir()) {
    Counter counter(*this, strict, progress);
    TRY(counter.children(ino, recursive, sum));
  }
  return sum;
}

// Paths are relative to the inode asked for, which has the empty one.
Result<TreeSummary> MetaImpl::treeSummary(const Context&, Ino ino, int depth, int topN, bool strict, const Progress& progress) {
  ino = real(ino);
  Attr attr;
  TRY(read("summary", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(attr, tx.node(ino));
    return {};
  }));
  Summary own;
  addNode(own, attr);
  TreeSummary root = leaf(shown(ino), "", attr.type, own);
  Tree tree(*this, topN, strict, progress);
  if (attr.isDir()) TRY(tree.fill(root, depth));
  return root;
}

}  // namespace aquifer::meta
