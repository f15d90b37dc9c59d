// Directories: listings are packed until the kernel's buffer is full.
#include "access/fuse/dispatcher.h"

namespace aquifer::fuse {
namespace {

constexpr size_t aligned(size_t n) { return (n + 7) / 8 * 8; }

uint32_t direntType(meta::FileType t) {  // DT_*
  static constexpr uint32_t kTypes[] = {0, 8, 4, 10, 1, 6, 2, 12};
  const auto i = static_cast<size_t>(t);
  return i < std::size(kTypes) ? kTypes[i] : 0;
}

}  // namespace

void Dispatcher::opendir(Call& c) {
  OpenIn in;
  if (!c.in.take(in)) return malformed(c);
  if (c.known && (c.note->flags.load() & kJournalOpened)) {
    putOpen(c, {.fh = c.note->fh.load()});
    return;
  }
  auto o = vfs_.opendir(c.ctx, c.in.node(), in.flags);
  if (!o) return fail(c, o.status());
  putOpen(c, *o);
}

void Dispatcher::list(Call& c, bool plus) {
  ReadIn in;
  if (!c.in.take(in) || in.size > c.out->limit()) return malformed(c);
  const size_t room = in.size;
  auto row = [&](const vfs::DirRow& r) {
    const size_t head = plus ? sizeof(DirentPlus) : sizeof(Dirent);
    const size_t need = aligned(head + r.name.size());
    if (c.out->size() + need > room) return false;
    if (plus) {
      // "." and ".." carry no entry: the kernel would count a lookup for them.
      const bool self = r.name == "." || r.name == "..";
      c.out->put(r.entry && !self ? entryOut(*r.entry) : EntryOut{});
    }
    c.out->put(Dirent{r.ino, r.nextOffset, static_cast<uint32_t>(r.name.size()), direntType(r.type)});
    c.out->put(r.name.data(), r.name.size());
    static constexpr char kZeros[8] = {};
    c.out->put(kZeros, need - head - r.name.size());
    return true;
  };
  auto s = vfs_.readdir(c.ctx, c.in.node(), in.fh, in.offset, plus, row);
  if (!s) fail(c, s);
}

void Dispatcher::readdir(Call& c) { list(c, false); }
void Dispatcher::readdirplus(Call& c) { list(c, true); }

void Dispatcher::releasedir(Call& c) {
  ReleaseIn in;
  if (!c.in.take(in)) return malformed(c);
  if (auto s = vfs_.releasedir(c.ctx, c.in.node(), in.fh); !s) fail(c, s);
}

void Dispatcher::fsyncdir(Call& c) {
  FsyncIn in;
  if (!c.in.take(in)) return malformed(c);
  if (auto s = vfs_.fsyncdir(c.ctx, c.in.node(), in.fh, in.flags & kFsyncDataOnly); !s) fail(c, s);
}

}  // namespace aquifer::fuse
