// How processes hand a FUSE session to each other: a unix stream socket on which the descriptor and the kernel's INIT request
// travel. The same protocol as JuiceFS speaks, so that mounts pass between the two (docs/formats/handover.md).
//
// The side that listens sends at once: the INIT request with two descriptors, a dummy and the session's, or the text "FUSE" with
// the dummy alone. The other side answers with "CLOSE" and any descriptor, with the INIT request and a descriptor to keep, or not
// at all.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace aquifer::cli {

struct FuseSession {
  int fd = -1;       // owned by whoever holds the struct; -1: no session
  std::string init;  // 104 bytes
};

// Client side. Blocks for at most 5 s. Descriptors arrive close-on-exec.
Result<FuseSession> fetchSession(const std::string& socketPath);
// A copy of the descriptor goes to the listener; ours stays open.
Status storeSession(const std::string& socketPath, const FuseSession& session);

// One message with descriptors, for both sides.
Status sendDescriptors(int socket, const std::string& text, const std::vector<int>& fds);
Result<std::string> receiveDescriptors(int socket, std::vector<int>* fds);

// Listener side, driven by one thread's poll loop.
class SessionListener {
 public:
  ~SessionListener();  // closes and removes the socket
  // 0600; an old socket of that name is replaced.
  Status listen(const std::string& path);
  const std::string& path() const { return path_; }
  std::vector<int> descriptors() const;  // to poll for input
  // Accepts and reads what is there. `worker`: a client with this pid may come and go; any other one that fetches the session
  // becomes its owner.
  void handle(pid_t worker);
  void drop();  // forget the session, closing our copy
  const FuseSession& session() const { return session_; }
  bool transferred() const { return transferred_; }
  void keep(FuseSession session);  // replaces what is held; takes the descriptor over

 private:
  void accept(pid_t worker);
  void read(size_t connection);
  struct Connection {
    int fd = -1;
    pid_t peer = 0;
    int64_t deadline = 0;  // monotonic ns
  };
  std::string path_;
  int listen_ = -1, dummy_ = -1;
  FuseSession session_;
  bool transferred_ = false;
  std::vector<Connection> connections_;
};

}  // namespace aquifer::cli
