// From a request to the file system and back: one method an opcode, in ops_*.cc. Thread-safe; a Call belongs to one thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "access/fuse/identity.h"
#include "access/fuse/inflight.h"
#include "access/fuse/journal.h"
#include "access/fuse/reply.h"
#include "access/fuse/request.h"
#include "vfs/vfs.h"

namespace aquifer::fuse {

struct Call {
  Request in;
  Reply* out = nullptr;
  meta::Context ctx;
  InflightSlot* slot = nullptr;
  JournalEntry* note = nullptr;  // never null while a call is dispatched
  bool known = false;            // resent, and the predecessor had begun: `note` says what it did
  bool mayWait = false;          // locks: wait here rather than answer `mustWait`
  bool mustWait = false;         // set by SETLKW: nothing was answered, call again with mayWait on a thread that may block
};

class Dispatcher {
 public:
  Dispatcher(vfs::Vfs& vfs, const ServerConfig& config, std::function<void(uint64_t)> interrupt);
  // Fills call.out (or marks it as unwanted). call.in is parsed; the other members are set by the caller.
  void handle(Call& call);

 private:
  using Method = void (Dispatcher::*)(Call&);
  static Method methodOf(Op op);

  // names (ops_names.cc)
  void lookup(Call&);
  void mknod(Call&);
  void mkdir(Call&);
  void symlink(Call&);
  void unlink(Call&);
  void rmdir(Call&);
  void rename(Call&);
  void rename2(Call&);
  void link(Call&);
  void readlink(Call&);
  // attributes (ops_attr.cc)
  void getattr(Call&);
  void setattr(Call&);
  void access(Call&);
  void statfs(Call&);
  void getxattr(Call&);
  void setxattr(Call&);
  void dropSetgid(Call&);
  void listxattr(Call&);
  void removexattr(Call&);
  void ioctl(Call&);
  // open files (ops_file.cc)
  void open(Call&);
  void create(Call&);
  void tmpfile(Call&);
  void read(Call&);
  void write(Call&);
  void flush(Call&);
  void fsync(Call&);
  void release(Call&);
  void lseek(Call&);
  void fallocate(Call&);
  void copyFileRange(Call&);
  void syncfs(Call&);
  // directories (ops_dir.cc)
  void opendir(Call&);
  void readdir(Call&);
  void readdirplus(Call&);
  void releasedir(Call&);
  void fsyncdir(Call&);
  void list(Call&, bool plus);
  // locks and the rest (ops_lock.cc)
  void getlk(Call&);
  void setlk(Call&);
  void forget(Call&);
  void batchForget(Call&);
  void interrupt(Call&);
  void destroy(Call&);

  void renameWith(Call&, vfs::Ino newDir, uint32_t flags);
  // The inode of a new node: the predecessor's if the request is known, else one from allocateIno, noted. 0: none.
  vfs::Ino plannedIno(Call&);
  // Has the predecessor made this name? Then the reply is filled.
  bool madeBefore(Call&, vfs::Ino parent, std::string_view name);
  // Has the predecessor removed this name (ino in the note)?
  bool goneBefore(Call&, vfs::Ino parent, std::string_view name);
  void putEntry(Call&, const Result<vfs::EntryReply>&);
  bool putOpen(Call&, const vfs::OpenReply&);
  void fail(Call&, const Status&);
  void malformed(Call&);

  vfs::Vfs& vfs_;
  Identity identity_;
  const std::function<Result<vfs::Ino>()> allocateIno_;
  const std::function<void(uint64_t)> interrupt_;
  const bool xattrs_;
  std::atomic<int64_t> loggedSecond_{0};
  std::atomic<int> loggedLines_{0};
};

EntryOut entryOut(const vfs::EntryReply& entry);
AttrOut attrOut(vfs::Ino ino, const meta::Attr& attr, uint64_t blocks512);
uint32_t modeWithType(const meta::Attr& attr);

}  // namespace aquifer::fuse
