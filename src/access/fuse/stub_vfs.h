// A small file system in memory behind the Vfs interface, for tests of the FUSE side alone. Implemented in stub_vfs_test.cc.
// Thread-safe. No permissions, quotas or hard-link subtleties: what the protocol needs in order to be exercised, and hooks to
// make an operation slow, blocked or failing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "vfs/vfs.h"

namespace aquifer::fuse {

class StubVfs : public vfs::Vfs {
 public:
  using Ino = vfs::Ino;
  using Handle = vfs::Handle;
  using Context = vfs::Context;
  template <class T>
  using R = Result<T>;

  StubVfs();
  vfs::VfsConfig cfg;
  std::function<Status(const Context&, const char* operation)> before;  // called first by every operation that can fail
  std::atomic<int> reads{0}, writes{0}, opens{0};
  std::map<uint64_t, uint64_t> forgotten;
  vfs::Notifier* notify = nullptr;
  vfs::OpenRecorder* recorder = nullptr;
  struct Adopted {
    Ino ino;
    uint32_t flags;
    bool lost;
  };
  std::map<Handle, Adopted> adopted;
  bool zeroReads = false;  // reads copy nothing: measures the transport
  size_t openHandles();
  Ino find(std::string_view name);  // in the root, 0 = absent
  void addFile(std::string_view name, std::string data);

  const vfs::VfsConfig& config() const override { return cfg; }
  void setNotifier(vfs::Notifier* n) override { notify = n; }
  void setRecorder(vfs::OpenRecorder* r) override { recorder = r; }
  void adoptHandle(Handle fh, Ino ino, uint32_t flags, bool lost) override;
  Handle nextHandle() const override { return next_; }
  void startHandlesFrom(Handle fh) override { next_ = fh; }
  R<vfs::EntryReply> lookup(const Context&, Ino, std::string_view) override;
  void forget(Ino ino, uint64_t n) override;
  R<vfs::EntryReply> getattr(const Context&, Ino, Handle) override;
  R<vfs::EntryReply> setattr(const Context&, Ino, Handle, bool, const meta::SetAttr&, uint64_t) override;
  R<std::string> readlink(const Context&, Ino) override;
  R<vfs::EntryReply> mknod(const Context&, Ino, std::string_view, uint32_t, uint16_t, uint32_t, Ino) override;
  R<vfs::EntryReply> mkdir(const Context&, Ino, std::string_view, uint16_t, uint16_t, Ino) override;
  R<vfs::EntryReply> symlink(const Context&, Ino, std::string_view, std::string_view, Ino) override;
  Status unlink(const Context&, Ino, std::string_view) override;
  Status rmdir(const Context&, Ino, std::string_view) override;
  Status rename(const Context&, Ino, std::string_view, Ino, std::string_view, uint32_t) override;
  R<vfs::EntryReply> link(const Context&, Ino, Ino, std::string_view) override;
  R<vfs::OpenReply> open(const Context&, Ino, uint32_t) override;
  R<std::pair<vfs::EntryReply, vfs::OpenReply>> create(const Context&, Ino, std::string_view, uint16_t, uint16_t, uint32_t,
                                                       Ino) override;
  R<std::pair<vfs::EntryReply, vfs::OpenReply>> tmpfile(const Context&, Ino, uint16_t, uint16_t, uint32_t) override;
  R<size_t> read(const Context&, Ino, Handle, uint64_t, std::span<std::byte>, uint32_t) override;
  R<size_t> write(const Context&, Ino, Handle, uint64_t, std::span<const std::byte>, uint32_t) override;
  Status flush(const Context&, Ino, Handle, uint64_t) override;
  Status fsync(const Context&, Ino, Handle, bool) override;
  Status release(const Context&, Ino, Handle, uint32_t, uint64_t, bool) override;
  R<uint64_t> lseek(const Context&, Ino, Handle, uint64_t, int) override;
  Status fallocate(const Context&, Ino, Handle, uint32_t, uint64_t, uint64_t) override;
  R<uint64_t> copyFileRange(const Context&, Ino, Handle, uint64_t, Ino, Handle, uint64_t, uint64_t, uint32_t) override;
  R<vfs::OpenReply> opendir(const Context&, Ino, uint32_t) override;
  Status readdir(const Context&, Ino, Handle, uint64_t, bool, const std::function<bool(const vfs::DirRow&)>&) override;
  Status releasedir(const Context&, Ino, Handle) override;
  Status fsyncdir(const Context&, Ino, Handle, bool) override { return {}; }
  R<meta::StatFs> statfs(const Context&, Ino) override;
  Status syncfs(const Context&, Ino) override { return {}; }
  Status access(const Context&, Ino, uint32_t) override { return {}; }
  R<std::string> getxattr(const Context&, Ino, std::string_view) override;
  Status setxattr(const Context&, Ino, std::string_view, std::string_view, int) override;
  R<std::string> listxattr(const Context&, Ino) override;
  Status removexattr(const Context&, Ino, std::string_view) override;
  R<meta::LockRange> getlk(const Context&, Ino, Handle, uint64_t, const meta::LockRange&) override;
  Status setlk(const Context&, Ino, Handle, uint64_t, const meta::LockRange&, bool) override;
  Status flock(const Context&, Ino, Handle, uint64_t, meta::LockType, bool) override;
  R<std::string> ioctl(const Context&, Ino, Handle, uint32_t, std::string_view, size_t) override;
  Status flushAll() override { return {}; }

 private:
  struct Node {
    meta::Attr attr;
    std::string data;
    std::map<std::string, Ino, std::less<>> entries;
    std::map<std::string, std::string, std::less<>> xattrs;
    uint64_t lockOwner = 0;  // one exclusive lock a node, 0 = free
  };
  Status enter(const Context&, const char* operation);
  Node* node(Ino ino);
  vfs::EntryReply entry(Ino ino);
  R<Ino> make(const Context&, Ino parent, std::string_view name, meta::FileType type, uint16_t mode, Ino want);
  Handle newHandle(Ino ino, uint32_t flags);
  Status lock(const Context&, Ino ino, uint64_t owner, bool unlock, bool block);

  std::mutex mu_;
  std::condition_variable unlocked_;
  std::map<Ino, Node> nodes_;
  std::map<Handle, Ino> handles_;
  Ino nextIno_ = 2;
  std::atomic<Handle> next_{1};
};

}  // namespace aquifer::fuse
