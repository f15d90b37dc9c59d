// Checks that the records of a tree agree with each other, and mends them: entries with their nodes, parents, link counts,
// directory statistics, and for a whole volume its usage counters. Every repair looks again inside its own transaction.
#include <fmt/format.h>

#include "base/log.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr size_t kPage = 1000, kMostProblems = 1000;

bool isDirectory(FileType t) { return t == FileType::directory; }

class Checker {
 public:
  Checker(MetaImpl& meta, const FsckOptions& options, const Progress& progress)
      : meta_(meta), options_(options), progress_(progress) {}

  Result<FsckReport> run();

 private:
  struct Node {
    Ino ino = 0, parent = 0;
    std::string name, path;
    FileType type = FileType::directory;  // as the entry says
    bool missing = false;                 // known and told: there is no node
  };

  // A directory as one view of the volume shows it.
  struct Listing {
    std::optional<Attr> attr;
    std::optional<DirStat> stored;
    DirStat counted;
    uint32_t subdirs = 0;
    std::vector<Node> missing, children;
  };

  Result<Node> find(const std::string& path);
  Status list(const Node& n, bool withChildren, Listing& out);
  Status checkNode(const Node& n, bool* walkInto);
  Status checkDir(const Node& n, std::vector<Node>* below);
  Status checkLinks(const Node& n, const Attr& attr);
  Status checkUsage();
  Status repairMissing(const Node& n);

  void problem(std::string text) {
    ++report_.broken;
    LOG_ERROR("{}", text);
    if (report_.problems.size() < kMostProblems) report_.problems.push_back(std::move(text));
  }
  Status repair(const TxnBody& body) {
    if (!options_.repair) return {};
    TRY(meta_.txn("fsck", body, [](MetaTxn&) -> Result<bool> { return false; }));
    ++report_.repaired;
    return {};
  }
  // Changes the node if it is still there.
  Status repairNode(Ino ino, const std::function<Status(MetaTxn&, Attr&)>& change) {
    return repair([&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(ino)));
      if (!attr) return {};
      TRY(change(tx, *attr));
      attr->ctime = MetaImpl::now();
      tx.put(key::node(ino), *attr);
      return {};
    });
  }

  MetaImpl& meta_;
  const FsckOptions& options_;
  const Progress& progress_;
  FsckReport report_;
};

Result<uint32_t> countSubdirs(MetaTxn& tx, Ino dir) {
  uint32_t n = 0;
  std::string after;
  for (;;) {
    TRY_ASSIGN(const auto page, tx.listDir(dir, after, kPage, false));
    for (const auto& e : page) n += isDirectory(e.dentry.type);
    if (page.size() < kPage) return n;
    after = page.back().name;
  }
}

// By entries only, so that a path over a node that is missing can be mended.
Result<Checker::Node> Checker::find(const std::string& path) {
  Node n{.ino = kRootIno, .parent = kRootIno, .path = "/"};
  std::string_view rest = path;
  TRY(meta_.read("fsck", [&](MetaTxn& tx) -> Status {
    n = {.ino = kRootIno, .parent = kRootIno, .path = "/"};
    rest = path;
    while (!rest.empty()) {
      const auto cut = rest.find('/');
      const std::string part(rest.substr(0, cut));
      rest = cut == std::string_view::npos ? std::string_view() : rest.substr(cut + 1);
      if (part.empty() || part == ".") continue;
      const std::string full = (n.path == "/" ? "" : n.path) + "/" + part;
      if (n.ino == kRootIno && part == kTrashName) {
        n = {.ino = kTrashIno, .parent = kRootIno, .name = part, .path = full};
        continue;
      }
      TRY_ASSIGN(const auto d, tx.find<Dentry>(key::dentry(n.ino, part)));
      if (!d) return Status(Code::notFound, full + ": no such file or directory");
      n = {d->ino, n.ino, part, full, d->type, false};
    }
    return {};
  }));
  return n;
}

Status Checker::repairMissing(const Node& n) {
  problem(fmt::format("{} (inode {}) has an entry but no node", n.path, n.ino));
  return repair([&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(const auto d, tx.find<Dentry>(key::dentry(n.parent, n.name)));
    TRY_ASSIGN(const auto there, tx.find<Attr>(key::node(n.ino)));
    if (there || !d || d->ino != n.ino) return {};
    if (!isDirectory(n.type)) {  // nothing is left of the file but a name that cannot be removed otherwise
      tx.erase(key::dentry(n.parent, n.name));
      return {};
    }
    TRY_ASSIGN(const auto subdirs, countSubdirs(tx, n.ino));
    Attr attr;
    attr.type = FileType::directory;
    attr.mode = options_.repairDirMode & 07777;
    attr.atime = attr.mtime = attr.ctime = MetaImpl::now();
    attr.nlink = 2 + subdirs;
    attr.length = 4096;
    attr.parent = n.parent;
    tx.insert(key::node(n.ino), attr);
    if (meta_.logging()) meta_.log(tx, changelog::repairDir(n.ino));
    return {};
  });
}

Status Checker::checkLinks(const Node& n, const Attr& attr) {
  if (attr.isDir() || isTrash(attr.parent)) return {};  // the trash keeps the count of before
  int64_t links = 1;
  if (attr.parent == 0 || meta_.store().traits().parentsFromDentries) {
    std::vector<std::pair<Ino, int64_t>> counts;
    TRY(meta_.read("fsck", [&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(counts, meta_.parentCounts(tx, n.ino));
      return {};
    }));
    links = 0;
    for (const auto& [parent, count] : counts) links += count;
  }
  if (links == attr.nlink) return {};
  problem(fmt::format("{} (inode {}) has {} links but counts {}", n.path, n.ino, links, attr.nlink));
  return repairNode(n.ino, [&](MetaTxn& tx, Attr& a) -> Status {
    if (a.parent == 0 || meta_.store().traits().parentsFromDentries) {
      TRY_ASSIGN(const auto counts, meta_.parentCounts(tx, n.ino));
      int64_t sum = 0;
      for (const auto& [parent, count] : counts) sum += count;
      a.nlink = static_cast<uint32_t>(sum);
    } else {
      a.nlink = 1;
    }
    return {};
  });
}

Status Checker::checkNode(const Node& n, bool* walkInto) {
  ++report_.checked;
  std::optional<Attr> attr;
  TRY(meta_.read("fsck", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(attr, tx.find<Attr>(key::node(n.ino)));
    return {};
  }));
  if (!attr) {
    if (!n.missing) TRY(repairMissing(n));
    *walkInto = isDirectory(n.type);
    return {};
  }
  *walkInto = attr->isDir();
  if (attr->type != n.type) {
    problem(fmt::format("the entry of {} (inode {}) has type {}, its node {}", n.path, n.ino, static_cast<int>(n.type),
                        static_cast<int>(attr->type)));
    TRY(repair([&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(auto d, tx.find<Dentry>(key::dentry(n.parent, n.name)));
      TRY_ASSIGN(const auto a, tx.find<Attr>(key::node(n.ino)));
      if (!d || d->ino != n.ino || !a) return {};
      d->type = a->type;
      tx.put(key::dentry(n.parent, n.name), *d);
      return {};
    }));
  }
  // A file with more than one name says 0; everything else knows its only parent.
  if (attr->parent != n.parent && (attr->isDir() || attr->parent != 0)) {
    problem(fmt::format("{} (inode {}) is in directory {} but says {}", n.path, n.ino, n.parent, attr->parent));
    TRY(repairNode(n.ino, [&](MetaTxn& tx, Attr& a) -> Status {
      TRY_ASSIGN(const auto d, tx.find<Dentry>(key::dentry(n.parent, n.name)));
      if (d && d->ino == n.ino) a.parent = n.parent;
      return {};
    }));
  }
  return checkLinks(n, *attr);
}

Status Checker::list(const Node& n, bool withChildren, Listing& out) {
  return meta_.read("fsck", [&](MetaTxn& tx) -> Status {
    out = {};
    TRY_ASSIGN(out.attr, tx.find<Attr>(key::node(n.ino)));
    TRY_ASSIGN(out.stored, tx.find<DirStat>(key::dirStat(n.ino)));
    std::string after;
    for (bool more = true; more;) {
      TRY_ASSIGN(auto page, tx.listDir(n.ino, after, kPage, true));
      more = page.size() == kPage;
      if (more) after = page.back().name;
      for (auto& e : page) {
        out.subdirs += isDirectory(e.dentry.type);
        if (e.attr) {
          out.counted.space += spaceOf(*e.attr);
          out.counted.inodes += 1;
          if (e.attr->isRegular()) out.counted.length += static_cast<int64_t>(e.attr->length);
          if (!withChildren) continue;
        }
        Node child{e.dentry.ino, n.ino, e.name, (n.path == "/" ? "" : n.path) + "/" + e.name, e.dentry.type, !e.attr};
        if (!e.attr) out.missing.push_back(child);
        if (withChildren) out.children.push_back(std::move(child));
      }
    }
    return {};
  });
}

Status Checker::checkDir(const Node& n, std::vector<Node>* below) {
  Listing dir;
  TRY(list(n, below != nullptr, dir));
  if (!dir.missing.empty()) {
    for (const auto& m : dir.missing) TRY(repairMissing(m));
    if (options_.repair) TRY(list(n, below != nullptr, dir));  // what was mended counts for the sums below
  }
  const auto& attr = dir.attr;
  const auto& stored = dir.stored;
  const auto& counted = dir.counted;
  if (!isTrash(n.ino) && attr && attr->nlink != dir.subdirs + 2) {
    problem(fmt::format("{} (inode {}) has {} sub-directories but a link count of {}", n.path, n.ino, dir.subdirs, attr->nlink));
    TRY(repairNode(n.ino, [&](MetaTxn& tx, Attr& a) -> Status {
      TRY_ASSIGN(const auto now, countSubdirs(tx, n.ino));
      a.nlink = 2 + now;
      return {};
    }));
  }
  // A missing record is legal; it is made when statistics are to be brought in order.
  if (meta_.formatNow()->dirStats && n.ino != kTrashIno && (stored ? *stored != counted : options_.syncDirStat)) {
    if (stored)
      problem(fmt::format("statistics of {} (inode {}): length {} space {} inodes {}, counted {} {} {}", n.path, n.ino,
                          stored->length, stored->space, stored->inodes, counted.length, counted.space, counted.inodes));
    if (options_.repair || options_.syncDirStat) {
      TRY(meta_.txn(
          "fsck",
          [&](MetaTxn& tx) -> Status {
            TRY_ASSIGN(const auto now, meta_.countChildren(tx, n.ino));
            tx.put(key::dirStat(n.ino), now);
            if (meta_.logging()) meta_.log(tx, changelog::dirStat(n.ino, now));
            return {};
          },
          [](MetaTxn&) -> Result<bool> { return false; }));
      if (stored) ++report_.repaired;
    }
  }
  if (below) below->swap(dir.children);
  return {};
}

// One view of all nodes and of the counters, and the difference added, so that concurrent changes are kept.
Status Checker::checkUsage() {
  int64_t space = 0, inodes = 0, usedSpace = 0, usedInodes = 0;
  TRY(meta_.read("fsckUsage", [&](MetaTxn& tx) -> Status {
    space = inodes = 0;
    TRY_ASSIGN(const auto s, tx.find<int64_t>(key::counter(counter::kUsedSpace)));
    TRY_ASSIGN(const auto i, tx.find<int64_t>(key::counter(counter::kTotalInodes)));
    usedSpace = s.value_or(0);
    usedInodes = i.value_or(0);
    return tx.list({.kind = Kind::node}, [&](const Key& key, const Value& value) {
      const auto* attr = std::get_if<Attr>(&value);
      if (!attr || key.id == kRootIno || key.id == kTrashIno) return true;
      space += spaceOf(*attr);
      inodes += 1;
      return true;
    });
  }));
  if (space == usedSpace && inodes == usedInodes) return {};
  problem(fmt::format("usage of the volume: {} bytes and {} inodes, counted {} and {}", usedSpace, usedInodes, space, inodes));
  if (!options_.repair) return {};
  TRY(meta_.txn(
      "fsckUsage",
      [&](MetaTxn& tx) -> Status {
        tx.add(key::counter(counter::kUsedSpace), space - usedSpace);
        tx.add(key::counter(counter::kTotalInodes), inodes - usedInodes);
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(const auto s, tx.find<int64_t>(key::counter(counter::kUsedSpace)));
        TRY_ASSIGN(const auto i, tx.find<int64_t>(key::counter(counter::kTotalInodes)));
        const int64_t newSpace = s.value_or(0), newInodes = i.value_or(0);
        if (newSpace == space && newInodes == inodes) return true;
        if (newSpace == usedSpace && newInodes == usedInodes) return false;
        return Status(Code::io, "usage has changed meanwhile");
      }));
  ++report_.repaired;
  return meta_.refreshUsage();
}

Result<FsckReport> Checker::run() {
  if (options_.repair && meta_.config().readOnly) return Code::readOnly;
  TRY_ASSIGN(auto top, find(options_.path));
  std::vector<Node> todo{std::move(top)};
  while (!todo.empty()) {
    const Node n = std::move(todo.back());
    todo.pop_back();
    bool walkInto = false;
    TRY(checkNode(n, &walkInto));
    if (walkInto) {
      std::vector<Node> below;
      TRY(checkDir(n, options_.recursive ? &below : nullptr));
      for (auto& b : below) todo.push_back(std::move(b));
    }
    if (progress_ && !progress_(report_.checked, report_.checked + todo.size())) return Code::interrupted;
  }
  if (options_.path.find_first_not_of('/') == std::string::npos && options_.recursive && options_.syncDirStat) TRY(checkUsage());
  return std::move(report_);
}

}  // namespace

Result<FsckReport> MetaImpl::fsck(const FsckOptions& options, const Progress& progress) {
  return Checker(*this, options, progress).run();
}

}  // namespace aquifer::meta
