// Random operations through two file systems on one volume, checked step by step against a plain model in memory.
//
// AQUIFER_MODEL_OPS: operations a run (default 1500); AQUIFER_MODEL_SEED: one seed instead of the built-in ones. A failing run is
// shrunk to a short list of steps, which is printed with its seed. What one client has written the other sees after a flush, so
// a step flushes what the other client left behind before it looks at the same file.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <random>
#include <set>

#include "vfs/test_support.h"

namespace aquifer::vfs {
namespace {

using testing::Client;
using testing::Volume;

// Bytes with a memory of which of them were written: pages hold the bytes, `data` the extents that are not holes.
class ModelFile {
 public:
  uint64_t length = 0;
  void write(uint64_t off, std::string_view bytes) {
    for (size_t i = 0; i < bytes.size();) {
      auto& page = pages_[(off + i) / kPage];
      page.resize(kPage, '\0');
      size_t at = (off + i) % kPage, n = std::min(bytes.size() - i, kPage - at);
      page.replace(at, n, bytes.substr(i, n));
      i += n;
    }
    mark(off, off + bytes.size(), true);
    length = std::max(length, off + bytes.size());
  }
  void clear(uint64_t off, uint64_t end) {
    if (off >= end) return;
    for (auto it = pages_.lower_bound(off / kPage); it != pages_.end() && it->first * kPage < end; ++it) {
      uint64_t start = it->first * kPage, from = std::max(off, start), to = std::min(end, start + kPage);
      it->second.replace(from - start, to - from, to - from, '\0');
    }
    mark(off, end, false);
  }
  void truncate(uint64_t size) {
    if (size < length) clear(size, length);
    length = size;
  }
  std::string read(uint64_t off, size_t n) const {
    if (off >= length) return {};
    n = std::min<uint64_t>(n, length - off);
    std::string out(n, '\0');
    for (auto it = pages_.lower_bound(off / kPage); it != pages_.end() && it->first * kPage < off + n; ++it) {
      uint64_t start = it->first * kPage, from = std::max(off, start), to = std::min<uint64_t>(off + n, start + kPage);
      out.replace(from - off, to - from, it->second, from - start, to - from);
    }
    return out;
  }
  void copyFrom(const ModelFile& src, uint64_t srcOff, uint64_t dstOff, uint64_t n) {
    ModelFile piece = src;   // source and target may be one file
    clear(dstOff, dstOff + n);
    for (auto& [from, to] : piece.data_) {
      uint64_t a = std::max(from, srcOff), b = std::min(to, srcOff + n);
      if (a < b) write(dstOff + (a - srcOff), piece.read(a, b - a));
    }
    length = std::max(length, dstOff + n);
  }
  // As lseek; UINT64_MAX: ENXIO.
  uint64_t seek(uint64_t off, bool wantData) const {
    if (off >= length) return UINT64_MAX;
    for (auto& [from, to] : data_) {
      if (to <= off) continue;
      if (wantData) return from < length ? std::max(off, from) : UINT64_MAX;
      if (from > off) return off;
      off = to;   // extents are joined, so a hole follows
      return std::min(off, length);
    }
    return wantData ? UINT64_MAX : off;
  }

 private:
  static constexpr size_t kPage = 4096;
  void mark(uint64_t off, uint64_t end, bool on) {
    if (off >= end) return;
    std::map<uint64_t, uint64_t> out;
    for (auto& [a, b] : data_) {
      if (a < off) out[a] = std::min(b, off);
      if (b > end) out[std::max(a, end)] = b;
    }
    if (on) out[off] = end;
    data_.clear();
    for (auto& [a, b] : out) {   // join neighbours
      if (!data_.empty() && data_.rbegin()->second == a) data_.rbegin()->second = b;
      else data_[a] = b;
    }
  }
  std::map<uint64_t, std::string> pages_;
  std::map<uint64_t, uint64_t> data_;
};

struct Node {
  meta::FileType type = meta::FileType::regular;
  uint16_t mode = 0;
  Ino ino = 0;
  int nlink = 0;
  int parent = -1;                       // of a directory
  std::map<std::string, int> children;   // name -> node
  ModelFile file;
  std::string target;
  std::map<std::string, std::string> xattrs;
  int dirtyAt = -1;                      // the client that holds unflushed bytes
};

struct OpenHandle {
  int node = 0, client = 0;
  Handle fh = 0;
  uint32_t flags = 0;
};

struct Step {
  uint32_t kind = 0, client = 0;
  uint64_t a = 0, b = 0, c = 0, d = 0;
};

enum Kind : uint32_t {
  kCreate, kOpen, kWrite, kTruncate, kFallocate, kRead, kClose, kRename, kLink, kUnlink, kSymlink, kMkdir, kRmdir, kList, kSeek, kCopy,
  kXattr, kStat, kChmod, kFlush, kTmpfile, kReadAnew, kKinds
};
const char* const kNames[] = {"create", "open",  "write", "truncate", "fallocate", "read", "close", "rename", "link",  "unlink",  "symlink",
                              "mkdir",  "rmdir", "list",  "seek",     "copy",      "xattr", "stat", "chmod",  "flush", "tmpfile", "readAnew"};
// Data operations come more often than the rest.
constexpr uint32_t kWeights[] = {6, 4, 14, 5, 5, 8, 4, 6, 3, 4, 2, 3, 2, 3, 5, 4, 3, 5, 1, 4, 1, 3};

std::vector<Step> makeSteps(uint64_t seed, size_t count) {
  std::mt19937_64 rng(seed);
  uint32_t sum = 0;
  for (auto w : kWeights) sum += w;
  std::vector<Step> steps(count);
  for (auto& s : steps) {
    uint32_t pick = rng() % sum;
    while (pick >= kWeights[s.kind]) pick -= kWeights[s.kind++];
    s.client = rng() % 2;
    s.a = rng();
    s.b = rng();
    s.c = rng();
    s.d = rng();
  }
  return steps;
}

class Trial {
 public:
  Trial(Volume::Kind kind, int trashDays)
      : volume_(kind, [&](meta::Format& f) {
          f.trashDays = trashDays;
          f.blockSizeKiB = 64;
        }) {
    for (auto& c : clients_) c = volume_.mount();
    nodes_.resize(1);
    nodes_[0].type = meta::FileType::directory;
    nodes_[0].ino = 1;
    nodes_[0].nlink = 2;
    nodes_[0].parent = 0;
    nodes_[0].mode = 0777;
  }
  ~Trial() {
    for (auto& h : handles_) (void)vfs(h.client).release(ctx_, nodes_[h.node].ino, h.fh, h.flags, 0, false);
  }

  // Empty, or what went wrong.
  std::string run(const std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size() && wrong_.empty(); i++) {
      at_ = fmt::format("step {} ({} by client {})", i, kNames[steps[i].kind], steps[i].client);
      what_.clear();
      step(steps[i]);
      trace_ += fmt::format("  {} {} {}\n", kNames[steps[i].kind], steps[i].client, what_);
    }
    if (wrong_.empty()) {
      at_ = "at the end";
      finish();
    }
    return wrong_;
  }
  // The steps as they were carried out.
  const std::string& trace() const { return trace_; }

 private:
  template <class... A>
  void note(fmt::format_string<A...> f, A&&... args) {
    what_ = fmt::format(f, std::forward<A>(args)...);
  }
  Vfs& vfs(int client) { return *clients_[client]->vfs; }
  template <class... A>
  void bad(fmt::format_string<A...> f, A&&... args) {
    if (wrong_.empty()) wrong_ = at_ + ": " + fmt::format(f, std::forward<A>(args)...);
  }
  bool expect(Code got, Code want, const std::string& what) {
    if (got != want) bad("{} gives {}, expected {}", what, Status(got).text(), Status(want).text());
    return got == want;
  }

  // ---- choosing ----
  std::vector<int> all(meta::FileType type) const {   // nodes that have a name
    std::vector<int> out;
    for (size_t i = 0; i < nodes_.size(); i++)
      if (nodes_[i].type == type && nodes_[i].nlink > 0) out.push_back(static_cast<int>(i));
    return out;
  }
  int dir(uint64_t r) const {
    auto d = all(meta::FileType::directory);
    return d[r % d.size()];
  }
  int regular(uint64_t r) const {
    auto f = all(meta::FileType::regular);
    return f.empty() ? -1 : f[r % f.size()];
  }
  static std::string name(uint64_t r) { return std::string(1, static_cast<char>('a' + r % 7)); }
  OpenHandle* handle(uint64_t r, bool writable) {
    std::vector<OpenHandle*> fit;
    for (auto& h : handles_)
      if (!writable || (h.flags & O_ACCMODE) != O_RDONLY) fit.push_back(&h);
    return fit.empty() ? nullptr : fit[r % fit.size()];
  }
  // Mostly small, sometimes around the border of the first or second chunk.
  static uint64_t offset(uint64_t r) {
    switch (r % 12) {
      case 0: return meta::kChunkSize - 9000 + (r >> 8) % 18000;
      case 1: return 2 * meta::kChunkSize - 100 + (r >> 8) % 200;
      default: return (r >> 8) % 300'000;
    }
  }
  static uint64_t size(uint64_t r) { return r % 5 == 0 ? 1 + (r >> 8) % 200'000 : 1 + (r >> 8) % 5000; }
  static std::string content(uint64_t r, size_t n) {
    std::string s(n, '\0');
    for (size_t i = 0; i < n; i++) s[i] = static_cast<char>(1 + (r + i * 7 + i / 251) % 255);
    return s;
  }

  // ---- keeping the two clients in step ----
  void settle(int node, int client) {   // what the other client has written must be stored before this one looks
    auto& n = nodes_[node];
    if (n.dirtyAt < 0 || n.dirtyAt == client) return;
    for (auto& h : handles_)
      if (h.node == node && h.client == n.dirtyAt && (h.flags & O_ACCMODE) != O_RDONLY) {
        expect(vfs(h.client).fsync(ctx_, n.ino, h.fh, false).code(), Code::ok, "fsync");
        break;
      }
    n.dirtyAt = -1;
    // As the kernel does when its attributes time out; open handles learn of foreign changes with it.
    (void)vfs(client).getattr(ctx_, n.ino, 0);
  }
  void changedBy(int node, int client) {   // metadata changed under open handles of the other client
    (void)vfs(1 - client).getattr(ctx_, nodes_[node].ino, 0);
  }
  void closeHandle(size_t i) {
    auto h = handles_[i];
    auto& n = nodes_[h.node];
    note("inode {} by its client {}", n.ino, h.client);
    expect(vfs(h.client).flush(ctx_, n.ino, h.fh, 1).code(), Code::ok, "flush");
    expect(vfs(h.client).release(ctx_, n.ino, h.fh, h.flags, 0, false).code(), Code::ok, "release");
    if (n.dirtyAt == h.client && (h.flags & O_ACCMODE) != O_RDONLY) n.dirtyAt = -1;
    handles_.erase(handles_.begin() + static_cast<long>(i));
  }
  // An open file of one client does not survive its removal by another (the format knows no better), so those close first.
  void closeForeign(int node, int client) {
    for (size_t i = handles_.size(); i-- > 0;)
      if (handles_[i].node == node && handles_[i].client != client) closeHandle(i);
  }

  // ---- checking ----
  void checkAttr(int node, int client, const EntryReply& r) {
    auto& n = nodes_[node];
    if (r.ino != n.ino) return bad("inode {} instead of {}", r.ino, n.ino);
    if (r.attr.type != n.type) bad("type of inode {}", n.ino);
    if (static_cast<int>(r.attr.nlink) != n.nlink) bad("inode {} has {} links, expected {} (client {})", n.ino, r.attr.nlink, n.nlink, client);
    if (n.type == meta::FileType::regular && r.attr.length != n.file.length)
      bad("inode {} is {} bytes long, expected {}", n.ino, r.attr.length, n.file.length);
    if (r.attr.mode != n.mode) bad("mode of inode {} is {:o}, expected {:o}", n.ino, r.attr.mode, n.mode);
  }
  void checkBytes(int node, const OpenHandle& h, uint64_t off, size_t n) {
    std::string got(n, '\xEE');
    auto r = vfs(h.client).read(ctx_, nodes_[node].ino, h.fh, off, {reinterpret_cast<std::byte*>(got.data()), n}, h.flags);
    if (!r) return bad("read of inode {}: {}", nodes_[node].ino, r.status().text());
    got.resize(*r);
    auto want = nodes_[node].file.read(off, n);
    if (got == want) return;
    size_t i = 0;
    while (i < std::min(got.size(), want.size()) && got[i] == want[i]) i++;
    bad("inode {}: {} bytes at {}, expected {}; first difference at {}", nodes_[node].ino, got.size(), off, want.size(), off + i);
  }
  void checkWhole(int node, int client) {
    settle(node, client);
    auto o = vfs(client).open(ctx_, nodes_[node].ino, O_RDONLY);
    if (!o) return bad("open of inode {}: {}", nodes_[node].ino, o.status().text());
    OpenHandle h{node, client, o->fh, O_RDONLY};
    uint64_t len = nodes_[node].file.length;
    // All of it, but not the vast holes byte by byte.
    constexpr uint64_t kPart = 400'000;
    checkBytes(node, h, 0, std::min(len, kPart) + 100);
    for (uint64_t border : {meta::kChunkSize, 2 * meta::kChunkSize})
      if (len + kPart > border) checkBytes(node, h, border - kPart / 2, kPart);
    expect(vfs(client).release(ctx_, nodes_[node].ino, h.fh, O_RDONLY, 0, false).code(), Code::ok, "release");
  }
  void checkDir(int node, int client, uint64_t perCall, bool plus) {
    testing::Fs fs(vfs(client));
    std::set<std::string> got, want;
    for (auto& n : fs.list(nodes_[node].ino, 1 + perCall % 9, plus))
      if (!got.insert(n).second) bad("{} is listed twice", n);
    for (auto& [n, child] : nodes_[node].children) want.insert(n);
    if (got != want) bad("directory {} lists {} names, expected {}", nodes_[node].ino, got.size(), want.size());
  }

  int find(int d, const std::string& n) const {
    auto it = nodes_[d].children.find(n);
    return it == nodes_[d].children.end() ? -1 : it->second;
  }
  int addNode(int d, const std::string& n, meta::FileType type, const EntryReply& r, uint16_t mode) {
    Node node;
    node.type = type;
    node.ino = r.ino;
    node.mode = mode;
    node.nlink = type == meta::FileType::directory ? 2 : 1;
    node.parent = d;
    nodes_.push_back(node);
    int id = static_cast<int>(nodes_.size()) - 1;
    nodes_[d].children[n] = id;
    if (type == meta::FileType::directory) nodes_[d].nlink++;
    return id;
  }
  void dropName(int d, const std::string& n) {
    int id = nodes_[d].children[n];
    nodes_[d].children.erase(n);
    if (nodes_[id].type == meta::FileType::directory) {
      nodes_[id].nlink = 0;
      nodes_[d].nlink--;
    } else {
      nodes_[id].nlink--;
    }
  }
  bool below(int node, int ancestor) const {
    for (;; node = nodes_[node].parent) {
      if (node == ancestor) return true;
      if (node == 0) return false;
    }
  }

  void step(const Step& s);
  void rename(const Step& s);
  void data(const Step& s);
  void finish();

  Volume volume_;
  std::unique_ptr<Client> clients_[2];
  Context ctx_;
  std::vector<Node> nodes_;
  std::vector<OpenHandle> handles_;
  std::string at_, wrong_, what_, trace_;
};

void Trial::rename(const Step& s) {
  int c = static_cast<int>(s.client);
  int from = dir(s.a), to = dir(s.b);
  std::string n1 = name(s.c), n2 = name(s.d);
  uint32_t flags = s.d >> 32 & 3;
  if (flags == 3) flags = 0;
  int src = find(from, n1), dst = find(to, n2);
  auto isDir = [&](int n) { return nodes_[n].type == meta::FileType::directory; };
  std::set<Code> want{Code::ok};
  bool nothing = false;
  if (src < 0) want = {Code::notFound};
  else if (flags == meta::kRenameExchange && dst < 0) want = {Code::notFound, Code::invalid, Code::notPermitted};   // and a loop besides
  else if (isDir(src) && below(to, src)) want = {Code::invalid, Code::notPermitted, Code::notEmpty, Code::exists, Code::ok};
  else if (flags == meta::kRenameExchange && isDir(dst) && below(from, dst)) want = {Code::invalid, Code::notPermitted};
  else if (src == dst && !(flags & meta::kRenameNoReplace)) nothing = true;
  else if (dst >= 0 && flags == meta::kRenameNoReplace) want = {Code::exists};
  else if (dst >= 0 && flags == 0 && isDir(src) && !isDir(dst)) want = {Code::notDirectory};
  else if (dst >= 0 && flags == 0 && !isDir(src) && isDir(dst)) want = {Code::isDirectory};
  else if (dst >= 0 && flags == 0 && isDir(dst) && !nodes_[dst].children.empty()) want = {Code::notEmpty};
  if (dst >= 0 && flags == 0 && want.count(Code::ok)) closeForeign(dst, c);
  note("{}/{} to {}/{} flags {}", nodes_[from].ino, n1, nodes_[to].ino, n2, flags);
  auto got = vfs(c).rename(ctx_, nodes_[from].ino, n1, nodes_[to].ino, n2, flags).code();
  if (want.size() > 1 && got == Code::ok) {
    // Onto itself is no change; anything else would make a loop.
    if (!(from == to && n1 == n2)) bad("a directory moved below itself");
    return;
  }
  if (!want.count(got)) return bad("rename {}/{} to {}/{} flags {} gives {}, expected {}", from, n1, to, n2, flags, Status(got).text(), Status(*want.begin()).text());
  if (got != Code::ok || nothing || (from == to && n1 == n2)) return;
  if (flags == meta::kRenameExchange) {
    std::swap(nodes_[from].children[n1], nodes_[to].children[n2]);
    for (auto [node, was, now] : {std::tuple(src, from, to), std::tuple(dst, to, from)})
      if (isDir(node)) {
        nodes_[was].nlink--;
        nodes_[now].nlink++;
        nodes_[node].parent = now;
      }
    return;
  }
  if (dst >= 0) dropName(to, n2);
  nodes_[from].children.erase(n1);
  nodes_[to].children[n2] = src;
  if (isDir(src)) {
    nodes_[from].nlink--;
    nodes_[to].nlink++;
    nodes_[src].parent = to;
  }
}

void Trial::data(const Step& s) {
  if (s.kind == kCopy) {
    auto* to = handle(s.a, true);
    if (!to) return;
    int src = regular(s.b);
    if (src < 0) return;
    settle(src, to->client);
    settle(to->node, to->client);
    uint64_t srcOff = offset(s.c), dstOff = offset(s.d), n = size(s.b);
    note("{} at {} to {} at {}, {} bytes", nodes_[src].ino, srcOff, nodes_[to->node].ino, dstOff, n);
    auto r = vfs(to->client).copyFileRange(ctx_, nodes_[src].ino, 0, srcOff, nodes_[to->node].ino, to->fh, dstOff, n, 0);
    if (src == to->node && srcOff < dstOff + n && dstOff < srcOff + n) {
      expect(r.code(), Code::invalid, "overlapping copy");
      return;
    }
    if (!expect(r.code(), Code::ok, "copy")) return;
    uint64_t have = nodes_[src].file.length, want = srcOff >= have ? 0 : std::min(n, have - srcOff);
    if (*r != want) return bad("copied {} bytes, expected {}", *r, want);
    nodes_[src].dirtyAt = nodes_[to->node].dirtyAt = -1;   // both were flushed
    if (want > 0) nodes_[to->node].file.copyFrom(nodes_[src].file, srcOff, dstOff, want);
    changedBy(to->node, to->client);
    return;
  }
  auto* h = handle(s.a, s.kind != kRead);
  if (!h) return;
  auto& n = nodes_[h->node];
  int c = h->client;
  settle(h->node, c);
  note("inode {} by its client {}, {} {} {}", n.ino, c, offset(s.b), size(s.c), s.d % 15);
  if (s.kind == kRead) return checkBytes(h->node, *h, offset(s.b), size(s.c));
  if (s.kind == kWrite) {
    auto bytes = content(s.d, size(s.c));
    bool append = h->flags & O_APPEND;
    uint64_t off = append ? n.file.length : offset(s.b);
    note("inode {} by its client {}: {} bytes at {}{}{}", n.ino, c, bytes.size(), off, append ? " (append)" : "", s.d % 3 == 0 ? " and fsync" : "");
    auto r = vfs(c).write(ctx_, n.ino, h->fh, off, testing::bytesOf(bytes), h->flags);
    if (!expect(r.code(), Code::ok, "write")) return;
    n.file.write(off, bytes);
    n.dirtyAt = c;
    if (s.d % 3 == 0) {
      expect(vfs(c).fsync(ctx_, n.ino, h->fh, false).code(), Code::ok, "fsync");
      n.dirtyAt = -1;
      changedBy(h->node, c);
    }
    return;
  }
  if (s.kind == kTruncate) {
    uint64_t len = offset(s.b);
    note("inode {} by its client {} from {} to {}", n.ino, c, n.file.length, len);
    meta::SetAttr set;
    set.mask = meta::kSetSize;
    auto r = vfs(c).setattr(ctx_, n.ino, h->fh, true, set, len);
    if (!expect(r.code(), Code::ok, "truncate")) return;
    n.file.truncate(len);
    n.dirtyAt = -1;
    checkAttr(h->node, c, *r);
    changedBy(h->node, c);
    return;
  }
  // fallocate
  uint64_t off = offset(s.b), len = size(s.c);
  static constexpr uint32_t kModes[] = {0, meta::kFallocKeepSize, meta::kFallocPunchHole | meta::kFallocKeepSize, meta::kFallocZeroRange,
                                        meta::kFallocZeroRange | meta::kFallocKeepSize};
  uint32_t mode = kModes[s.d % 5];
  note("inode {} by its client {}, mode {}: {} bytes at {} of {}", n.ino, c, mode, len, off, n.file.length);
  if (!expect(vfs(c).fallocate(ctx_, n.ino, h->fh, mode, off, len).code(), Code::ok, "fallocate")) return;
  n.dirtyAt = -1;
  if (mode & (meta::kFallocPunchHole | meta::kFallocZeroRange)) n.file.clear(off, std::min(off + len, n.file.length));
  if (!(mode & meta::kFallocKeepSize)) n.file.length = std::max(n.file.length, off + len);
  changedBy(h->node, c);
}

void Trial::step(const Step& s) {
  int c = static_cast<int>(s.client);
  auto& v = vfs(c);
  switch (s.kind) {
    case kCreate: {
      if (handles_.size() >= 12) return;
      int d = dir(s.a);
      std::string n = name(s.b);
      uint32_t flags = s.c % 4 == 0 ? O_RDWR | O_APPEND : O_RDWR;
      if (s.c % 5 == 0) flags |= O_EXCL;
      int old = find(d, n);
      if (old >= 0) settle(old, c);
      note("{}/{} flags {:x} handle {}", nodes_[d].ino, n, flags, handles_.size());
      auto r = v.create(ctx_, nodes_[d].ino, n, 0640, 022, flags, 0);
      Code want = old < 0 ? Code::ok : flags & O_EXCL ? Code::exists : nodes_[old].type == meta::FileType::regular ? Code::ok : Code::stale;
      if (!expect(r.code(), want, "create") || !r) return;
      int id = old >= 0 ? old : addNode(d, n, meta::FileType::regular, r->first, 0640);
      checkAttr(id, c, r->first);
      handles_.push_back({id, c, r->second.fh, flags & ~uint32_t{O_EXCL}});
      return;
    }
    case kOpen: {
      int f = regular(s.a);
      if (f < 0 || handles_.size() >= 12) return;
      settle(f, c);
      uint32_t flags = s.b % 3 == 0 ? O_RDONLY : s.b % 3 == 1 ? O_RDWR : O_WRONLY | O_APPEND;
      if (s.c % 6 == 0 && flags != O_RDONLY) flags |= O_TRUNC;
      note("inode {} flags {:x}", nodes_[f].ino, flags);
      auto r = v.open(ctx_, nodes_[f].ino, flags);
      if (!expect(r.code(), Code::ok, "open")) return;
      if (flags & O_TRUNC) {
        nodes_[f].file.truncate(0);
        nodes_[f].dirtyAt = -1;
        changedBy(f, c);
      }
      handles_.push_back({f, c, r->fh, flags & ~uint32_t{O_TRUNC}});
      return;
    }
    case kWrite:
    case kTruncate:
    case kFallocate:
    case kRead:
    case kCopy: return data(s);
    case kClose:
      if (!handles_.empty()) closeHandle(s.a % handles_.size());
      return;
    case kRename: return rename(s);
    case kLink: {
      int f = regular(s.a), d = dir(s.b);
      if (f < 0) return;
      std::string n = name(s.c);
      settle(f, c);
      bool taken = find(d, n) >= 0;
      note("inode {} as {}/{}", nodes_[f].ino, nodes_[d].ino, n);
      auto r = v.link(ctx_, nodes_[f].ino, nodes_[d].ino, n);
      if (!expect(r.code(), taken ? Code::exists : Code::ok, "link") || !r) return;
      nodes_[f].nlink++;
      nodes_[d].children[n] = f;
      checkAttr(f, c, *r);
      return;
    }
    case kUnlink: {
      int d = dir(s.a);
      std::string n = name(s.b);
      int f = find(d, n);
      bool isDir = f >= 0 && nodes_[f].type == meta::FileType::directory;
      note("{}/{}", nodes_[d].ino, n);
      if (f >= 0 && !isDir) closeForeign(f, c);
      auto got = v.unlink(ctx_, nodes_[d].ino, n).code();
      if (isDir && got == Code::isDirectory) return;
      if (!expect(got, f < 0 ? Code::notFound : isDir ? Code::notPermitted : Code::ok, "unlink") || got != Code::ok) return;
      dropName(d, n);
      return;
    }
    case kSymlink: {
      int d = dir(s.a);
      std::string n = name(s.b), target = "t" + std::to_string(s.c % 1000);
      auto r = v.symlink(ctx_, nodes_[d].ino, n, target, 0);
      if (!expect(r.code(), find(d, n) >= 0 ? Code::exists : Code::ok, "symlink") || !r) return;
      int id = addNode(d, n, meta::FileType::symlink, *r, 0777);
      nodes_[id].target = target;
      auto link = vfs(1 - c).readlink(ctx_, r->ino);
      if (!link || *link != target) bad("readlink gives another target");
      return;
    }
    case kMkdir: {
      int d = dir(s.a);
      std::string n = name(s.b);
      auto r = v.mkdir(ctx_, nodes_[d].ino, n, 0755, 022, 0);
      if (!expect(r.code(), find(d, n) >= 0 ? Code::exists : Code::ok, "mkdir") || !r) return;
      checkAttr(addNode(d, n, meta::FileType::directory, *r, 0755), c, *r);
      return;
    }
    case kRmdir: {
      int d = dir(s.a);
      std::string n = name(s.b);
      int f = find(d, n);
      Code want = f < 0                                                 ? Code::notFound
                  : nodes_[f].type != meta::FileType::directory         ? Code::notDirectory
                  : !nodes_[f].children.empty()                         ? Code::notEmpty
                                                                        : Code::ok;
      if (expect(v.rmdir(ctx_, nodes_[d].ino, n).code(), want, "rmdir") && want == Code::ok) dropName(d, n);
      return;
    }
    case kList: return checkDir(dir(s.a), c, s.b, s.c & 1);
    case kSeek: {
      int f = regular(s.a);
      if (f < 0) return;
      settle(f, c);
      bool wantData = s.c & 1;
      note("inode {} from {}", nodes_[f].ino, offset(s.b));
      uint64_t off = offset(s.b), want = nodes_[f].file.seek(off, wantData);
      auto r = v.lseek(ctx_, nodes_[f].ino, 0, off, wantData ? SEEK_DATA : SEEK_HOLE);
      uint64_t got = r ? *r : r.is(Code::noSuchAddress) ? UINT64_MAX : UINT64_MAX - 1;
      // Compaction may have stored zeros where a hole was; data is never taken for a hole.
      bool fine = r ? (wantData ? got >= off && got <= want : got >= want && got <= nodes_[f].file.length) : got == want;

      if (!fine) bad("seek for {} from {} in inode {} gives {}, expected {}", wantData ? "data" : "a hole", off, nodes_[f].ino, got, want);
      return;
    }
    case kXattr: {
      int f = regular(s.a);
      if (f < 0) return;
      auto& x = nodes_[f].xattrs;
      std::string n = "user." + name(s.b), value = content(s.c, s.c % 50);
      switch (s.d % 3) {
        case 0: {
          int flags = static_cast<int>((s.d >> 8) % 3);
          Code want = flags == 1 && x.count(n) ? Code::exists : flags == 2 && !x.count(n) ? Code::noAttribute : Code::ok;
          if (expect(v.setxattr(ctx_, nodes_[f].ino, n, value, flags).code(), want, "setxattr") && want == Code::ok) x[n] = value;
          break;
        }
        case 1:
          if (expect(v.removexattr(ctx_, nodes_[f].ino, n).code(), x.count(n) ? Code::ok : Code::noAttribute, "removexattr")) x.erase(n);
          break;
        default: {
          auto r = v.getxattr(ctx_, nodes_[f].ino, n);
          if (expect(r.code(), x.count(n) ? Code::ok : Code::noAttribute, "getxattr") && r && *r != x[n]) bad("value of {}", n);
        }
      }
      return;
    }
    case kStat: {
      int d = dir(s.a);
      std::string n = name(s.b);
      int f = find(d, n);
      if (f >= 0) settle(f, c);
      auto r = v.lookup(ctx_, nodes_[d].ino, n);
      if (expect(r.code(), f < 0 ? Code::notFound : Code::ok, "lookup") && r) checkAttr(f, c, *r);
      return;
    }
    case kChmod: {
      int f = regular(s.a);
      if (f < 0) return;
      settle(f, c);
      meta::SetAttr set;
      set.mask = meta::kSetMode;
      set.mode = s.b & 0777;
      auto r = v.setattr(ctx_, nodes_[f].ino, 0, false, set, 0);
      if (!expect(r.code(), Code::ok, "chmod")) return;
      nodes_[f].mode = set.mode;
      checkAttr(f, c, *r);
      return;
    }
    case kFlush: {
      auto* h = handle(s.a, true);
      if (!h) return;
      expect(vfs(h->client).fsync(ctx_, nodes_[h->node].ino, h->fh, false).code(), Code::ok, "fsync");
      if (nodes_[h->node].dirtyAt == h->client) {
        nodes_[h->node].dirtyAt = -1;
        changedBy(h->node, h->client);
      }
      return;
    }
    case kTmpfile: {
      if (handles_.size() >= 12) return;
      int d = dir(s.a);
      auto r = v.tmpfile(ctx_, nodes_[d].ino, 0600, 022, O_RDWR);
      if (!expect(r.code(), Code::ok, "tmpfile")) return;
      Node node;
      node.mode = 0600;
      node.ino = r->first.ino;
      nodes_.push_back(node);
      int id = static_cast<int>(nodes_.size()) - 1;
      handles_.push_back({id, c, r->second.fh, O_RDWR});
      std::string n = name(s.b);
      if (s.c % 2 == 0 && find(d, n) < 0) {
        auto l = v.link(ctx_, node.ino, nodes_[d].ino, n);
        if (!expect(l.code(), Code::ok, "link of a tmpfile")) return;
        nodes_[id].nlink = 1;
        nodes_[d].children[n] = id;
      }
      return;
    }
    case kReadAnew: {
      int f = regular(s.a);
      if (f < 0) return;
      note("inode {}", nodes_[f].ino);
      checkWhole(f, c);
      return;
    }
    default: return;
  }
}

void Trial::finish() {
  while (!handles_.empty()) {
    auto& h = handles_.back();
    if (nodes_[h.node].nlink == 0) {   // alive without a name until now
      auto r = vfs(h.client).getattr(ctx_, nodes_[h.node].ino, h.fh);
      if (r) checkAttr(h.node, h.client, *r);
      else bad("open inode {} without a name: {}", nodes_[h.node].ino, r.status().text());
    }
    closeHandle(handles_.size() - 1);
  }
  for (int c = 0; c < 2; c++)
    for (size_t i = 0; i < nodes_.size() && wrong_.empty(); i++) {
      auto& n = nodes_[i];
      if (n.nlink == 0) continue;
      auto r = vfs(c).getattr(ctx_, n.ino, 0);
      if (!r) {
        bad("getattr of inode {}: {}", n.ino, r.status().text());
        continue;
      }
      checkAttr(static_cast<int>(i), c, *r);
      if (n.type == meta::FileType::directory) checkDir(static_cast<int>(i), c, 5, c == 1);
      if (n.type == meta::FileType::regular) checkWhole(static_cast<int>(i), c);
    }
  meta::FsckOptions options;
  options.recursive = true;
  auto report = clients_[0]->meta->fsck(options, [](uint64_t, uint64_t) { return true; });
  if (!report) bad("fsck: {}", report.status().text());
  else if (report->broken) bad("fsck finds {}", report->problems.empty() ? "damage" : report->problems[0]);
}

// The kind of a failure: its words without the numbers.
std::string kindOf(const std::string& wrong) {
  std::string out;
  for (char c : wrong)
    if (!isdigit(static_cast<unsigned char>(c))) out += c;
  return out;
}

// Removes what is not needed for the same kind of failure, in ever smaller pieces, within a bounded number of runs.
std::vector<Step> shrink(std::vector<Step> steps, const std::function<std::string(const std::vector<Step>&)>& run) {
  const auto kind = kindOf(run(steps));
  int budget = 200;
  for (size_t piece = steps.size() / 2; piece > 0 && budget > 0; piece /= 2)
    for (size_t at = 0; at + piece <= steps.size() && budget > 0; budget--) {
      auto less = steps;
      less.erase(less.begin() + static_cast<long>(at), less.begin() + static_cast<long>(at + piece));
      if (kindOf(run(less)) == kind) steps = std::move(less);
      else at += piece;
    }
  return steps;
}

struct Setup {
  Volume::Kind kind;
  int trashDays;
  uint64_t seed;
};

class VfsModel : public ::testing::TestWithParam<Setup> {};

TEST_P(VfsModel, AgreesWithThePlainModel) {
  auto setup = GetParam();
  const char* count = getenv("AQUIFER_MODEL_OPS");
  const char* seed = getenv("AQUIFER_MODEL_SEED");
  if (seed) setup.seed = strtoull(seed, nullptr, 10);
  auto run = [&](const std::vector<Step>& steps) { return Trial(setup.kind, setup.trashDays).run(steps); };
  auto steps = makeSteps(setup.seed, count ? strtoull(count, nullptr, 10) : 1500);
  auto wrong = run(steps);
  if (wrong.empty()) return;
  auto less = shrink(steps, run);
  Trial last(setup.kind, setup.trashDays);
  auto text = fmt::format("seed {}, {} steps: {}\nshrunk to {} steps: {}\n", setup.seed, steps.size(), wrong, less.size(), last.run(less));
  text += last.trace();
  ADD_FAILURE() << text;
}

INSTANTIATE_TEST_SUITE_P(Runs, VfsModel,
                         ::testing::Values(Setup{Volume::Kind::mem, 0, 11}, Setup{Volume::Kind::mem, 1, 12}, Setup{Volume::Kind::sqlite, 0, 13},
                                           Setup{Volume::Kind::sqlite, 1, 14}),
                         [](const auto& info) {
                           return fmt::format("{}{}", info.param.kind == Volume::Kind::mem ? "mem" : "sqlite",
                                              info.param.trashDays ? "Trash" : "Plain");
                         });

}  // namespace
}  // namespace aquifer::vfs
