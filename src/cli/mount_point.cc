#include "cli/mount_point.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "access/fuse/server.h"
#include "base/clock.h"
#include "base/log.h"

namespace aquifer::cli {
namespace {

struct Look {
  std::atomic<bool> done{false};
  int error = 0;
  struct stat st {};
};

// On a thread of its own, since a dead mount may never answer. The thread is then left behind; it owns what it writes to.
std::shared_ptr<Look> lookAt(const std::string& path) {
  auto look = std::make_shared<Look>();
  std::thread([look, path] {
    if (stat(path.c_str(), &look->st) != 0) look->error = errno;
    look->done = true;
  }).detach();
  for (int i = 0; i < 3000 && !look->done; ++i) sleepMs(1);
  return look;
}

}  // namespace

void prepareMountPoint(const std::string& path) {
  auto look = lookAt(path);
  if (!look->done) LOG_FATAL("stat {}: no answer within 3 seconds", path);
  if (look->error == ENOENT) {
    std::error_code failed;
    const mode_t old = umask(0);
    std::filesystem::create_directories(path, failed);
    umask(old);
    if (failed) LOG_FATAL("create {}: {}", path, failed.message());
    chmod(path.c_str(), 0777);
    return;
  }
  const bool stale = look->error != 0 || (look->st.st_ino <= 1 && look->st.st_size == 0);
  if (stale) {
    LOG_WARN("mount point {} is left over: {}", path,
             look->error ? std::strerror(look->error) : "not answering as a volume does");
    if (auto s = fuse::unmountFuse(path, true); !s) LOG_WARN("{}", s.text());
    look = lookAt(path);
    if (!look->done || look->error) LOG_FATAL("stat {}: {}", path, look->error ? std::strerror(look->error) : "no answer");
  }
  if (!S_ISDIR(look->st.st_mode)) LOG_FATAL("{} is not a directory", path);
  if (geteuid() != 0 && access(path.c_str(), W_OK) != 0) LOG_FATAL("mount point {} is not writable for user {}", path, geteuid());
}

}  // namespace aquifer::cli
