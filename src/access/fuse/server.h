// The FUSE server: speaks the kernel's protocol (protocol.h) over /dev/fuse itself, so that a new process can adopt a
// descriptor whose INIT is spent. Threads read from cloned descriptors; a request is answered by the thread that read it,
// blocking ones (locks, control reads) are moved to a side pool.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "vfs/vfs.h"

namespace aquifer::fuse {

struct MountOptions {
  std::string mountPoint, fsName = "JuiceFS:vol", subtype = "juicefs";
  bool allowOther = true, defaultPermissions = true, readOnly = false;
  uint32_t maxRead = 1 << 20;      // largest request; also max_read= of the mount
  std::vector<std::string> extra;  // further words for mount(2), checked before anything is done
};
// Opens /dev/fuse (creating the node if missing) and mounts; falls back to fusermount3. Returns the descriptor, close-on-exec.
Result<int> mountFuse(const MountOptions& options);
Status unmountFuse(const std::string& mountPoint, bool lazy);

struct ServerConfig {
  int threads = 0;  // that listen at the same time; 0: by cores
  size_t maxThreads = 512;  // that serve requests; those that wait for locks come on top
  int64_t quickNanos = 1'000'000;  // see listeners.h: where metadata is a network away, below a trip
  uint32_t maxWrite = 1 << 20;
  bool writebackCache = false, asyncDio = false, debug = false, posixAcl = false, dontMask = false;
  int crashStateFd = -1;  // memory held by the supervisor, see crash_state.h; -1: none
  bool rootSquash = false, allSquash = false;
  uint32_t squashUid = 65534, squashGid = 65534, rootSquashUid = 65534, rootSquashGid = 65534;
  bool checkPermission = false;  // not default_permissions: groups are read from /proc and the file system checks
  // Descriptors of /dev/fuse that somebody else (the supervisor) holds too, so that what was taken over them survives this
  // process; attached to the connection here unless they are. Empty: the server opens its own.
  std::vector<int> cloneFds;
  // Inodes in advance, so that a create that is resent after a crash is recognised. Empty: creates are only looked up by name.
  std::function<Result<vfs::Ino>()> allocateIno;
};

class Server {
 public:
  virtual ~Server() = default;
  // Reads INIT from the kernel and answers it; the raw request (104 bytes) is kept for hand-over.
  virtual Status negotiate() = 0;
  // Adopt a descriptor whose INIT was answered by another process: `init` is that request. Asks the kernel to resend what the
  // dead process had taken.
  virtual Status adopt(const std::string& init, bool resend) = 0;
  virtual const std::string& initRequest() const = 0;
  virtual Status serve() = 0;  // until unmounted or stop(); returns ok
  virtual void stop() = 0;     // finish what was taken, read no more
  // Interrupts what has been worked on for 15 minutes, waits for locks excepted. To be called now and then.
  virtual void interruptOld() = 0;
  virtual vfs::Notifier& notifier() = 0;
  virtual std::string modeText() const = 0;  // "dev-fuse, 4 cloned descriptors": shown in .stats
};
std::unique_ptr<Server> makeServer(int fuseFd, vfs::Vfs& vfs, const ServerConfig& config);

}  // namespace aquifer::fuse
