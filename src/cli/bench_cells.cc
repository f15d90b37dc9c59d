#include "cli/bench_cells.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/log.h"

namespace aquifer::cli {

namespace {
constexpr int kRed = 31, kGreen = 32, kYellow = 33;
std::string painted(const std::string& text, int colour, bool on) { return on ? fmt::format("\033[{}m{}\033[0m", colour, text) : text; }

bool dropAsRoot() {
  int fd = ::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool ok = ::write(fd, "3\n", 2) == 2;
  ::close(fd);
  return ok;
}

bool dropWithSudo() {
  const char* argv[] = {"sudo", "sh", "-c", "echo 3 > /proc/sys/vm/drop_caches", nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, argv[0], nullptr, nullptr, const_cast<char**>(argv), environ) != 0) return false;
  int state = 0;
  return waitpid(pid, &state, 0) == pid && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}
}  // namespace

std::string valueCell(const std::string& text, double v, Range r, bool colour) {
  return painted(text, v > r.high ? kGreen : v > r.low ? kYellow : kRed, colour);
}
std::string costCell(const std::string& text, double v, Range r, bool colour) {
  return painted(text, v < r.low ? kGreen : v < r.high ? kYellow : kRed, colour);
}

void dropPageCache() {
  const char* skip = std::getenv("SKIP_DROP_CACHES");
  if (skip && std::strcmp(skip, "true") == 0) {
    LOG_WARN("Clear cache operation has been skipped");
    return;
  }
  ::sync();
  if (geteuid() == 0 ? !dropAsRoot() : !dropWithSudo()) LOG_WARN("the page cache could not be emptied: reads may come from memory");
}

}  // namespace aquifer::cli
