#include "vfs/control/walk.h"

#include <charconv>
#include <deque>
#include <string>
#include <vector>

namespace aquifer::vfs {

Status walkFiles(meta::Meta& meta, const meta::Context& ctx, Ino top, const meta::Attr& attr,
                 const std::function<Status(Ino, const meta::Attr&)>& visit) {
  if (attr.isRegular()) return visit(top, attr);
  if (!attr.isDir()) return {};
  constexpr size_t kPage = 1000;
  struct Level {
    Ino dir;
    std::vector<meta::DirEntry> page;
    size_t next = 0;
    bool last = false;
  };
  std::vector<Level> stack{{top, {}, 0, false}};
  while (!stack.empty()) {
    if (ctx.isInterrupted()) return Code::interrupted;
    auto& level = stack.back();
    if (level.next == level.page.size()) {
      if (level.last) {
        stack.pop_back();
        continue;
      }
      std::string after = level.page.empty() ? std::string() : level.page.back().name;
      auto page = meta.readdir(ctx, level.dir, after, kPage, true);
      if (!page && stack.size() == 1 && after.empty()) return page.status();
      level.page = page ? std::move(*page) : std::vector<meta::DirEntry>();
      level.next = 0;
      level.last = level.page.size() < kPage;
      continue;
    }
    auto& e = level.page[level.next++];
    if (e.dentry.type == meta::FileType::directory) {
      Ino dir = e.dentry.ino;
      stack.push_back({dir, {}, 0, false});   // `level` and `e` are gone
    } else if (e.dentry.type == meta::FileType::regular && e.attr) {
      TRY(visit(e.dentry.ino, *e.attr));
    }
  }
  return {};
}

Result<meta::Entry> resolvePath(meta::Meta& meta, const meta::Context& ctx, std::string_view path, std::string_view mountPoint) {
  constexpr int kMaxLinks = 40;
  if (path.substr(0, 6) == "inode:") {
    Ino ino = 0;
    auto [end, ec] = std::from_chars(path.data() + 6, path.data() + path.size(), ino);
    if (ec != std::errc() || end != path.data() + path.size()) return Code::notFound;
    TRY_ASSIGN(auto attr, meta.getattr(ctx, ino));
    return meta::Entry{ino, attr};
  }
  std::deque<std::string> parts;
  auto split = [](std::string_view text) {
    std::deque<std::string> out;
    while (!text.empty()) {
      auto slash = text.find('/');
      auto part = text.substr(0, slash);
      if (!part.empty() && part != ".") out.emplace_back(part);
      text = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
    }
    return out;
  };
  parts = split(path);
  TRY_ASSIGN(auto rootAttr, meta.getattr(ctx, meta::kRootIno));
  const meta::Entry root{meta::kRootIno, rootAttr};
  std::vector<meta::Entry> way{root};   // from the root down to where we are
  int links = 0;
  while (!parts.empty()) {
    std::string part = std::move(parts.front());
    parts.pop_front();
    if (part == "..") {
      if (way.size() > 1) way.pop_back();
      continue;
    }
    TRY_ASSIGN(auto entry, meta.lookup(ctx, way.back().ino, part));
    if (entry.attr.type != meta::FileType::symlink) {
      way.push_back(entry);
      continue;
    }
    if (++links > kMaxLinks) return Code::tooManySymlinks;
    TRY_ASSIGN(auto target, meta.readlink(ctx, entry.ino));
    std::string_view rest = target;
    if (!rest.empty() && rest[0] == '/') {
      if (mountPoint.empty() || rest.substr(0, mountPoint.size()) != mountPoint) return Code::notFound;
      rest.remove_prefix(mountPoint.size());
      if (!rest.empty() && rest[0] != '/') return Code::notFound;
      way.resize(1);
    }
    auto more = split(rest);
    parts.insert(parts.begin(), more.begin(), more.end());
  }
  return way.back();
}

}  // namespace aquifer::vfs
