// From an inode to its names.
#include <algorithm>

#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr int kMaxDepth = 100'000;  // longer chains are loops, that is damage
constexpr size_t kPage = 1000, kMaxPaths = 10'000;

// The names under which `parent` holds `ino`. A directory has one at most.
Status namesIn(MetaTxn& tx, Ino parent, Ino ino, size_t atMost, std::vector<std::string>& names) {
  if (parent == kRootIno && ino == kTrashIno) {
    names.emplace_back(kTrashName);  // shown there, but not an entry
    return {};
  }
  std::string after;
  for (;;) {
    TRY_ASSIGN(const auto page, tx.listDir(parent, after, kPage, false));
    for (const auto& e : page) {
      if (e.dentry.ino != ino) continue;
      names.push_back(e.name);
      if (names.size() >= atMost) return {};
    }
    if (page.size() < kPage) return {};
    after = page.back().name;
  }
}

// The path of a directory; empty for the root, nullopt if it hangs nowhere.
Result<std::optional<std::string>> dirPath(MetaTxn& tx, Ino dir) {
  std::vector<std::string> parts;
  for (int depth = 0; dir != kRootIno; ++depth) {
    if (depth > kMaxDepth) return Status(Code::io, "directory parents form a loop");
    TRY_ASSIGN(const auto attr, tx.find<Attr>(key::node(dir), kFieldParent));
    if (!attr || attr->parent == 0) return std::optional<std::string>();
    std::vector<std::string> names;
    TRY(namesIn(tx, attr->parent, dir, 1, names));
    if (names.empty()) return std::optional<std::string>();
    parts.push_back(std::move(names.front()));
    dir = attr->parent;
  }
  std::string path;
  for (auto p = parts.rbegin(); p != parts.rend(); ++p) path += "/" + *p;
  return std::optional(std::move(path));
}

}  // namespace

Result<std::vector<std::string>> MetaImpl::paths(Ino ino) {
  ino = real(ino);
  std::vector<std::string> out;
  TRY(read("paths", [&](MetaTxn& tx) -> Status {
    out.clear();
    if (ino == kRootIno) {
      out.emplace_back("/");
      return {};
    }
    TRY_ASSIGN(const auto attr, tx.node(ino, kFieldParent | kFieldType | kFieldNlink));
    std::vector<Ino> parents;
    if (attr.parent != 0) {
      parents.push_back(attr.parent);
    } else {
      TRY_ASSIGN(const auto counts, parentCounts(tx, ino));
      for (const auto& [parent, count] : counts) parents.push_back(parent);
    }
    for (const Ino parent : parents) {
      if (out.size() >= kMaxPaths) break;
      TRY_ASSIGN(const auto dir, dirPath(tx, parent));
      if (!dir) continue;
      std::vector<std::string> names;
      TRY(namesIn(tx, parent, ino, attr.parent != 0 ? 1 : kMaxPaths, names));
      for (const auto& name : names) out.push_back(*dir + "/" + name);
    }
    return {};
  }));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace aquifer::meta
