// The file system as an access protocol sees it: inodes, handles, replies with time-outs. FUSE today, others later.
//
// Thread-safe. Errors are errno codes. Joins meta (names, attributes, locks) and chunk (bytes); owns handles, the internal
// files (.accesslog, .config, .stats, .control), O_APPEND and O_DIRECT rules, and cache time-outs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "chunk/file_data.h"
#include "meta/ops/meta.h"

namespace aquifer::vfs {

using meta::Attr;
using meta::Context;
using meta::Ino;
using Handle = uint64_t;
using Seconds = std::chrono::duration<double>;

struct VfsConfig {
  Seconds attrTimeout{1}, entryTimeout{1}, dirEntryTimeout{1}, negativeTimeout{0}, openCache{0};
  bool readdirCache = false, readOnly = false;
  bool hideInternal = true;       // internal files answer by name but are not listed (JuiceFS lists them: --hide-internal=false)
  bool prefixInternal = false;    // .jfs.control …
  bool enableXattr = false, enableCap = false, enableSelinux = false, enableIoctl = false, enableAcl = false;
  bool subdirMount = false;       // .trash disappears
  int umask = -1;                 // override, -1 = unset
  std::string mountPoint;
  std::function<std::string()> configJson;   // contents of .config, made by the mount command
  std::function<std::string()> statsText;    // contents of .stats
  int64_t handleLimit = 0;
  // How long the kernel may keep what it was told while the metadata engine tells of changes, which are then taken back from it;
  // 0: never longer than the time-outs above.
  Seconds coherentAttr{0}, coherentEntry{0}, coherentDirEntry{0}, coherentNegative{0};
};

struct EntryReply {
  Ino ino = 0;              // 0: negative entry (only with negativeTimeout)
  Attr attr;
  uint64_t blocks512 = 0;   // st_blocks: from the slices where known
  Seconds attrTimeout{0}, entryTimeout{0};
};
struct OpenReply {
  Handle fh = 0;
  bool directIo = false, keepCache = false, cacheDir = false, nonSeekable = false;
};
struct DirRow {
  std::string_view name;
  Ino ino = 0;
  meta::FileType type = meta::FileType::none;
  uint64_t nextOffset = 0;
  const EntryReply* entry = nullptr;   // plus listings
};

// How the file system tells the kernel that something changed. Called from threads of its own, without locks held.
class Notifier {
 public:
  virtual ~Notifier() = default;
  virtual void invalidateInode(Ino ino, int64_t off, int64_t len) = 0;   // off < 0: attributes only; len 0: to the end
  virtual void invalidateEntry(Ino parent, std::string_view name) = 0;
  // As if the time-outs had run out, nothing more: what is mounted or open below stays. Sent before they return, perhaps after
  // waiting for a request of ours: not to be called by who serves requests. canExpire false: the kernel is too old for names.
  virtual bool canExpire() const { return false; }
  virtual void expireAttributes(Ino) {}
  virtual void expireEntry(Ino, std::string_view) {}
};

// What survives a worker's death in memory that the supervisor holds (access/fuse/crash_state.h implements it).
class OpenRecorder {
 public:
  virtual ~OpenRecorder() = default;
  virtual void opened(Handle fh, Ino ino, uint32_t flags) = 0;
  virtual void closed(Handle fh) = 0;
  virtual void dirty(Ino ino, bool isDirty) = 0;   // has written bytes that only this process knows
};

class Vfs {
 public:
  virtual ~Vfs() = default;
  virtual const VfsConfig& config() const = 0;
  virtual void setNotifier(Notifier* notifier) = 0;
  virtual void setRecorder(OpenRecorder* recorder) = 0;
  // After a crash or hand-over: the handle was open as (ino, flags); `lost`: written bytes died with the old process, so its
  // next fsync and close return EIO.
  virtual void adoptHandle(Handle fh, Ino ino, uint32_t flags, bool lost) = 0;
  virtual Handle nextHandle() const = 0;
  virtual void startHandlesFrom(Handle fh) = 0;

  virtual Result<EntryReply> lookup(const Context&, Ino parent, std::string_view name) = 0;
  virtual void forget(Ino ino, uint64_t count) = 0;
  virtual Result<EntryReply> getattr(const Context&, Ino ino, Handle fh) = 0;
  // mask: meta::SetAttrMask (kSetSize with `size`).
  virtual Result<EntryReply> setattr(const Context&, Ino ino, Handle fh, bool hasHandle, const meta::SetAttr&, uint64_t size) = 0;
  virtual Result<std::string> readlink(const Context&, Ino ino) = 0;
  virtual Result<EntryReply> mknod(const Context&, Ino parent, std::string_view name, uint32_t modeWithType, uint16_t umask, uint32_t rdev, Ino wantIno = 0) = 0;
  virtual Result<EntryReply> mkdir(const Context&, Ino parent, std::string_view name, uint16_t mode, uint16_t umask, Ino wantIno = 0) = 0;
  virtual Result<EntryReply> symlink(const Context&, Ino parent, std::string_view name, std::string_view target, Ino wantIno = 0) = 0;
  virtual Status unlink(const Context&, Ino parent, std::string_view name) = 0;
  virtual Status rmdir(const Context&, Ino parent, std::string_view name) = 0;
  virtual Status rename(const Context&, Ino parent, std::string_view name, Ino newParent, std::string_view newName, uint32_t flags) = 0;
  virtual Result<EntryReply> link(const Context&, Ino ino, Ino newParent, std::string_view newName) = 0;
  virtual Result<OpenReply> open(const Context&, Ino ino, uint32_t flags) = 0;
  virtual Result<std::pair<EntryReply, OpenReply>> create(const Context&, Ino parent, std::string_view name, uint16_t mode, uint16_t umask, uint32_t flags, Ino wantIno = 0) = 0;
  virtual Result<std::pair<EntryReply, OpenReply>> tmpfile(const Context&, Ino parent, uint16_t mode, uint16_t umask, uint32_t flags) = 0;
  // Fills out; returns the count. `flags`: the handle's open flags as the request carries them (an unknown handle is reopened with them).
  virtual Result<size_t> read(const Context&, Ino ino, Handle fh, uint64_t off, std::span<std::byte> out, uint32_t flags) = 0;
  virtual Result<size_t> write(const Context&, Ino ino, Handle fh, uint64_t off, std::span<const std::byte> data, uint32_t flags) = 0;
  virtual Status flush(const Context&, Ino ino, Handle fh, uint64_t lockOwner) = 0;
  virtual Status fsync(const Context&, Ino ino, Handle fh, bool dataOnly) = 0;
  virtual Status release(const Context&, Ino ino, Handle fh, uint32_t flags, uint64_t lockOwner, bool flockRelease) = 0;
  virtual Result<uint64_t> lseek(const Context&, Ino ino, Handle fh, uint64_t off, int whence) = 0;  // SEEK_DATA, SEEK_HOLE; ENXIO
  virtual Status fallocate(const Context&, Ino ino, Handle fh, uint32_t mode, uint64_t off, uint64_t size) = 0;
  virtual Result<uint64_t> copyFileRange(const Context&, Ino src, Handle srcFh, uint64_t srcOff, Ino dst, Handle dstFh, uint64_t dstOff, uint64_t size, uint32_t flags) = 0;
  virtual Result<OpenReply> opendir(const Context&, Ino ino, uint32_t flags) = 0;
  // Calls `row` for entries from `off` on (0 = start; "." and ".." included) until it returns false (reply full) or the end.
  virtual Status readdir(const Context&, Ino ino, Handle fh, uint64_t off, bool plus, const std::function<bool(const DirRow&)>& row) = 0;
  virtual Status releasedir(const Context&, Ino ino, Handle fh) = 0;
  virtual Status fsyncdir(const Context&, Ino ino, Handle fh, bool dataOnly) = 0;
  virtual Result<meta::StatFs> statfs(const Context&, Ino ino) = 0;
  virtual Status syncfs(const Context&, Ino ino) = 0;
  virtual Status access(const Context&, Ino ino, uint32_t mask) = 0;
  virtual Result<std::string> getxattr(const Context&, Ino ino, std::string_view name) = 0;
  virtual Status setxattr(const Context&, Ino ino, std::string_view name, std::string_view value, int flags) = 0;
  virtual Result<std::string> listxattr(const Context&, Ino ino) = 0;  // NUL-terminated names
  virtual Status removexattr(const Context&, Ino ino, std::string_view name) = 0;
  virtual Result<meta::LockRange> getlk(const Context&, Ino ino, Handle fh, uint64_t owner, const meta::LockRange& want) = 0;
  virtual Status setlk(const Context&, Ino ino, Handle fh, uint64_t owner, const meta::LockRange& range, bool block) = 0;
  virtual Status flock(const Context&, Ino ino, Handle fh, uint64_t owner, meta::LockType type, bool block) = 0;
  virtual Result<std::string> ioctl(const Context&, Ino ino, Handle fh, uint32_t cmd, std::string_view in, size_t outSize) = 0;
  virtual Status flushAll() = 0;     // before unmount and hand-over
  virtual void endCoherence() {}     // before a hand-over: what the kernel keeps for long is taken back
};

std::unique_ptr<Vfs> makeVfs(meta::Meta& meta, chunk::BlockStore& blocks, const VfsConfig& config);

}  // namespace aquifer::vfs
