#include "cli/mount_fstab.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "base/log.h"
#include "base/text_file.h"
#include "cli/main.h"
#include "cli/mount_path.h"
#include "cli/supervisor_process.h"

namespace aquifer::cli {
namespace {

bool writeFile(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return false;
  const bool ok = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  close(fd);
  return ok;
}

}  // namespace

std::string fstabWithEntry(const std::string& table, const std::string& source, const std::string& target,
                           const std::string& options) {
  const std::string entry = source + "  " + target + "  juicefs  " + options + "  0 0";
  std::istringstream lines(table);
  std::string out;
  bool placed = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string s, t;
    words >> s >> t;
    if (s == source && t == target) {
      if (placed) continue;
      line = entry, placed = true;
    }
    out += line + "\n";
  }
  return placed ? out : out + entry + "\n";
}

void updateFstab(const Args& args, const MountPlan& plan) {
  if (inContainer()) return;
  const char* helper = "/sbin/mount.juicefs";
  if (access(helper, F_OK) != 0 && symlink(ownProgram().c_str(), helper) != 0)
    LOG_WARN("link {}: {}", helper, std::strerror(errno));
  std::string options = "_netdev,nofail";
  for (auto word : args.given()) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "background" || name == "d" || name == "update-fstab") continue;
    if (name == "cache-dir" && word.size() > 10)
      word = "cache-dir=" + (word.substr(10) == "memory" ? "memory" : absolutePath(word.substr(10)));
    if (name == "o") word = word.substr(2);
    options += "," + word;
  }
  std::string source = plan.url;
  if (source.starts_with("sqlite3://") && source.size() > 10 && source[10] != '/')
    source = "sqlite3://" + absolutePath(source.substr(10));
  auto old = readText("/etc/fstab");
  if (!old && !old.is(Code::notFound)) {   // what cannot be read must not be written anew
    LOG_WARN("update /etc/fstab: {}", old.status().text());
    return;
  }
  const std::string text = fstabWithEntry(old ? *old : "", source, plan.mountPoint, options);
  if (!writeFile("/etc/fstab.tmp", text, 0644) || std::rename("/etc/fstab.tmp", "/etc/fstab") != 0) {
    LOG_WARN("update /etc/fstab: {}", std::strerror(errno));
    return;
  }
  LOG_INFO("Successfully updated fstab, now you can mount with `mount \"{}\"`", plan.mountPoint);
}

std::string withPruneFs(const std::string& config) {
  const size_t at = config.find("PRUNEFS");
  if (at == std::string::npos || config.find("fuse.juicefs") != std::string::npos) return config;
  const size_t place = config.find("fuse.sshfs", at);
  if (place == std::string::npos) return config;
  return config.substr(0, place) + "fuse.juicefs " + config.substr(place);
}

void updatePruneFs() {
  const int fd = open("/etc/updatedb.conf", O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    const std::string old = fileText("/etc/updatedb.conf");
    const std::string now = withPruneFs(old);
    if (now != old && pwrite(fd, now.data(), now.size(), 0) != static_cast<ssize_t>(now.size()))
      LOG_WARN("update /etc/updatedb.conf: {}", std::strerror(errno));
  }
  close(fd);
}

}  // namespace aquifer::cli
