// The one implementation of Vfs. A family of operations a file: names.cc, attrs.cc, open.cc, io.cc, ranges.cc, listing.cc,
// xattrs.cc, locks.cc, virtual_files.cc. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "vfs/change_clock.h"
#include "vfs/coherence.h"
#include "vfs/control/runner.h"
#include "vfs/extents.h"
#include "vfs/ghosts.h"
#include "vfs/handles.h"
#include "vfs/ino_set.h"
#include "vfs/inode_state.h"
#include "vfs/meta_source.h"
#include "vfs/notify_queue.h"
#include "vfs/op.h"
#include "vfs/seen_attrs.h"
#include "vfs/special.h"
#include "vfs/vfs.h"

namespace aquifer::vfs {

class VfsImpl : public Vfs {
 public:
  VfsImpl(meta::Meta& meta, chunk::BlockStore& blocks, const VfsConfig& config);
  ~VfsImpl() override;

  const VfsConfig& config() const override { return config_; }
  void setNotifier(Notifier* notifier) override;
  void setRecorder(OpenRecorder* recorder) override { recorder_ = recorder; }
  void adoptHandle(Handle fh, Ino ino, uint32_t flags, bool lost) override;
  Handle nextHandle() const override { return handles_.next(); }
  void startHandlesFrom(Handle fh) override { handles_.startFrom(fh); }

  Result<EntryReply> lookup(const Context&, Ino parent, std::string_view name) override;
  void forget(Ino ino, uint64_t count) override;
  Result<EntryReply> getattr(const Context&, Ino ino, Handle fh) override;
  Result<EntryReply> setattr(const Context&, Ino ino, Handle fh, bool hasHandle, const meta::SetAttr&, uint64_t size) override;
  Result<std::string> readlink(const Context&, Ino ino) override;
  Result<EntryReply> mknod(const Context&, Ino parent, std::string_view name, uint32_t modeWithType, uint16_t umask, uint32_t rdev,
                           Ino wantIno) override;
  Result<EntryReply> mkdir(const Context&, Ino parent, std::string_view name, uint16_t mode, uint16_t umask, Ino wantIno) override;
  Result<EntryReply> symlink(const Context&, Ino parent, std::string_view name, std::string_view target, Ino wantIno) override;
  Status unlink(const Context&, Ino parent, std::string_view name) override;
  Status rmdir(const Context&, Ino parent, std::string_view name) override;
  Status rename(const Context&, Ino parent, std::string_view name, Ino newParent, std::string_view newName, uint32_t flags) override;
  Result<EntryReply> link(const Context&, Ino ino, Ino newParent, std::string_view newName) override;
  Result<OpenReply> open(const Context&, Ino ino, uint32_t flags) override;
  Result<std::pair<EntryReply, OpenReply>> create(const Context&, Ino parent, std::string_view name, uint16_t mode, uint16_t umask,
                                                  uint32_t flags, Ino wantIno) override;
  Result<std::pair<EntryReply, OpenReply>> tmpfile(const Context&, Ino parent, uint16_t mode, uint16_t umask, uint32_t flags) override;
  Result<size_t> read(const Context&, Ino ino, Handle fh, uint64_t off, std::span<std::byte> out, uint32_t flags) override;
  Result<size_t> write(const Context&, Ino ino, Handle fh, uint64_t off, std::span<const std::byte> data, uint32_t flags) override;
  Status flush(const Context&, Ino ino, Handle fh, uint64_t lockOwner) override;
  Status fsync(const Context&, Ino ino, Handle fh, bool dataOnly) override;
  Status release(const Context&, Ino ino, Handle fh, uint32_t flags, uint64_t lockOwner, bool flockRelease) override;
  Result<uint64_t> lseek(const Context&, Ino ino, Handle fh, uint64_t off, int whence) override;
  Status fallocate(const Context&, Ino ino, Handle fh, uint32_t mode, uint64_t off, uint64_t size) override;
  Result<uint64_t> copyFileRange(const Context&, Ino src, Handle srcFh, uint64_t srcOff, Ino dst, Handle dstFh, uint64_t dstOff,
                                 uint64_t size, uint32_t flags) override;
  Result<OpenReply> opendir(const Context&, Ino ino, uint32_t flags) override;
  Status readdir(const Context&, Ino ino, Handle fh, uint64_t off, bool plus, const std::function<bool(const DirRow&)>& row) override;
  Status releasedir(const Context&, Ino ino, Handle fh) override;
  Status fsyncdir(const Context&, Ino ino, Handle fh, bool dataOnly) override;
  Result<meta::StatFs> statfs(const Context&, Ino ino) override;
  Status syncfs(const Context&, Ino ino) override;
  Status access(const Context&, Ino ino, uint32_t mask) override;
  Result<std::string> getxattr(const Context&, Ino ino, std::string_view name) override;
  Status setxattr(const Context&, Ino ino, std::string_view name, std::string_view value, int flags) override;
  Result<std::string> listxattr(const Context&, Ino ino) override;
  Status removexattr(const Context&, Ino ino, std::string_view name) override;
  Result<meta::LockRange> getlk(const Context&, Ino ino, Handle fh, uint64_t owner, const meta::LockRange& want) override;
  Status setlk(const Context&, Ino ino, Handle fh, uint64_t owner, const meta::LockRange& range, bool block) override;
  Status flock(const Context&, Ino ino, Handle fh, uint64_t owner, meta::LockType type, bool block) override;
  Result<std::string> ioctl(const Context&, Ino ino, Handle fh, uint32_t cmd, std::string_view in, size_t outSize) override;
  Status flushAll() override;
  void endCoherence() override { coherence_.end(); }

 private:
  using Created = std::pair<EntryReply, OpenReply>;
  using Row = std::function<bool(const DirRow&)>;

  // ---- replies (attrs.cc) ----
  // Time-outs, block count; remembers what the kernel is told. askedAt: before metadata was asked; 0: not to be kept for long.
  EntryReply reply(Ino ino, const Attr& attr, int64_t askedAt);
  // The same under a name, or that there is none; namedAt: before metadata was asked for the name.
  EntryReply named(Ino parent, std::string_view name, int64_t namedAt, EntryReply r);
  Result<EntryReply> noSuchName(Ino parent, std::string_view name, int64_t namedAt);
  // A change of ours under way may leave the kernel with a looked-up answer under a removed or another name: 0.
  int64_t unlessChanging(Ino parent, int64_t askedAt) const { return changes_.changedSince(parent, askedAt) ? 0 : askedAt; }
  EntryReply specialReply(Ino ino);
  // Attributes as this client sees them: what it has written but not committed included. askedAt: before metadata was asked.
  Attr withUnflushed(Ino ino, Attr attr, int64_t askedAt);
  // The same for attributes that came along with a name; asked again if the inode was changed here meanwhile.
  Result<EntryReply> settle(const Context& ctx, Ino parent, std::string_view name, meta::Entry entry, int64_t askedAt, int64_t namedAt);
  Result<Attr> trashAttr(const Context& ctx);
  Result<Attr> freshAttr(const Context& ctx, Ino ino, int64_t* askedAt = nullptr);
  std::string logged(const Result<EntryReply>& r) const { return r && r->ino ? logEntry(r->ino, r->attr) : std::string(); }
  Op op(const Context& ctx, OpKind kind, bool quiet = false) { return Op(log_, ctx, kind, quiet); }

  // ---- names (names.cc) ----
  Status checkNewName(Ino parent, std::string_view name) const;   // EEXIST, ENAMETOOLONG
  Status checkOldName(Ino parent, std::string_view name) const;   // EPERM, ENAMETOOLONG
  uint16_t umaskOf(uint16_t given) const { return config_.umask >= 0 ? static_cast<uint16_t>(config_.umask) : given; }

  // ---- open files (open.cc) ----
  Result<FileRef> newFile(Ino ino, uint32_t flags, const Attr& attr);
  Result<Created> openNew(Ino parent, std::string_view name, const meta::Entry& entry, uint32_t flags, int64_t askedAt);
  Result<Created> openExisting(const Context& ctx, Ino parent, std::string_view name, const meta::Entry& entry, uint32_t flags,
                               int64_t askedAt);
  bool replacedElsewhere(const Context& ctx, Ino ino, const Status& why);
  Result<OpenReply> doOpen(const Context& ctx, Ino ino, uint32_t flags);
  Result<Created> doCreate(const Context& ctx, Ino parent, std::string_view name, uint16_t mode, uint16_t umask, uint32_t flags, Ino wantIno);
  Result<Created> doTmpfile(const Context& ctx, Ino parent, uint16_t mode, uint16_t umask, uint32_t flags);
  // The open file behind a number; one that is not known (from before a restart) is opened again as `flags` say.
  Result<FileRef> fileOf(Ino ino, Handle fh, uint32_t flags);
  void record(const OpenFile& file, uint32_t flags);
  Status flushFile(const Context& ctx, OpenFile& file);
  void closeFile(OpenFile& file);

  // ---- bytes (io.cc, ranges.cc) ----
  Result<size_t> doRead(const Context& ctx, Ino ino, Handle fh, uint64_t off, std::span<std::byte> out, uint32_t flags);
  Result<size_t> doWrite(const Context& ctx, Ino ino, Handle fh, uint64_t off, std::span<const std::byte> data, uint32_t flags);
  Result<std::shared_ptr<chunk::FileWriter>> writerOf(OpenFile& file);
  uint64_t lengthOf(InodeState& inode);   // as a reader on this client sees it
  chunk::FileReader& readerOf(OpenFile& file);
  Status flushInode(const Context& ctx, Ino ino);    // its writer, if there is one
  void markWriting(InodeState& inode, Ino ino);
  void doneWriting(InodeState& inode);
  void markClean(InodeState& inode);
  Result<Attr> truncate(const Context& ctx, Ino ino, uint64_t length, bool byHandle);
  void changedRange(Ino ino, InodeState& inode, uint64_t off, uint64_t len, uint64_t newLength);
  Result<uint64_t> doSeek(const Context& ctx, Ino ino, uint64_t off, int whence);
  Status doFallocate(const Context& ctx, Ino ino, uint32_t mode, uint64_t off, uint64_t size);
  Result<uint64_t> doCopy(const Context& ctx, Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size, uint32_t flags);

  // ---- the rest ----
  Status doReaddir(const Context& ctx, OpenFile& file, uint64_t off, bool plus, const Row& row, size_t* count);
  Status listEntries(const Context& ctx, OpenFile& file, bool plus, const Row& row, size_t* count);
  Status checkXattr(std::string_view name, bool set) const;
  Result<std::string> doGetxattr(const Context& ctx, Ino ino, std::string_view name);
  Status doSetxattr(const Context& ctx, Ino ino, std::string_view name, std::string_view value, int flags);
  Result<std::string> doIoctl(const Context& ctx, Ino ino, uint32_t cmd, std::string_view in, size_t outSize);
  Result<FileRef> openSpecial(Ino ino, uint32_t flags, Handle fh);
  Result<size_t> readSpecial(const Context& ctx, OpenFile& file, uint64_t off, std::span<std::byte> out);

  meta::Meta& meta_;
  chunk::BlockStore& blocks_;
  const VfsConfig config_;
  const SpecialFiles special_;
  AccessLog log_;
  const std::shared_ptr<InodeTable> table_ = std::make_shared<InodeTable>();   // shared with the gauge that counts it
  InodeTable& inodes_ = *table_;
  ChangeClock changes_;
  SeenAttrs seen_;
  InoSet trashSeen_;          // files that were looked up inside the trash
  Ghosts ghosts_;
  BlockCounts blockCounts_;
  NotifyQueue notify_;
  Coherence coherence_;
  std::atomic<Notifier*> notifier_{nullptr};       // for what may be told at once: attributes only
  std::atomic<OpenRecorder*> recorder_{nullptr};
  Handles handles_;
  std::atomic<uint64_t> configLength_{0};           // of .config as last opened
  std::unique_ptr<Compactor> compactor_;
  std::unique_ptr<MetaSource> source_;
  std::unique_ptr<chunk::FileData> data_;
  std::unique_ptr<ControlRunner> control_;
};

}  // namespace aquifer::vfs
