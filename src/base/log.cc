#include "base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>

#include "base/syslog.h"

namespace aquifer::log {

namespace {

struct Look {
  const char* word;
  int colour;  // of ANSI
  int severity;
};

Look look(Level level) {
  switch (level) {
    case Level::trace: return {"TRACE", 35, LOG_DEBUG};
    case Level::debug: return {"DEBUG", 35, LOG_DEBUG};
    case Level::info: return {"INFO", 34, LOG_INFO};
    case Level::warning: return {"WARNING", 33, LOG_WARNING};
    case Level::error: return {"ERROR", 31, LOG_ERR};
    case Level::fatal: break;
  }
  return {"FATAL", 31, LOG_CRIT};
}

struct Settings {
  std::mutex mu;  // held while a line goes out: lines and progress bars must not mix
  std::string idPrefix;
  bool colour = true;
  int fd = STDERR_FILENO;
  std::unique_ptr<Syslog> syslog;
  void (*before)() = nullptr;
  void (*after)() = nullptr;
};

// Never destroyed: threads may log while the process exits.
Settings& settings() {
  static auto* s = new Settings;
  return *s;
}

std::atomic<Level> gLevel{Level::info};

// 2026/01/31 10:20:30.123456 in the local zone. The seconds part is remembered, since a busy log repeats it.
void appendTime(std::string& out) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  thread_local time_t cached = -1;
  thread_local char text[32];
  if (now.tv_sec != cached) {
    tm local{};
    localtime_r(&now.tv_sec, &local);
    strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &local);
    cached = now.tv_sec;
  }
  out += fmt::format("{}.{:06}", text, now.tv_nsec / 1000);
}

void writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // there is nowhere left to complain
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

bool makeParent(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (mkdir(path.substr(0, slash).c_str(), 0755) != 0 && errno != EEXIST) return false;
  }
  return true;
}

}  // namespace

void setLevel(Level level) { gLevel.store(level, std::memory_order_relaxed); }
Level level() { return gLevel.load(std::memory_order_relaxed); }

void setId(const std::string& id) {
  std::lock_guard lock(settings().mu);
  settings().idPrefix = id.empty() ? "" : "[" + id + "] ";
}

void setColor(bool allowed) {
  std::lock_guard lock(settings().mu);
  settings().colour = allowed;
}

bool toFile(const std::string& path) {
  if (!makeParent(path)) return false;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  std::lock_guard lock(settings().mu);
  if (settings().fd != STDERR_FILENO) close(settings().fd);
  settings().fd = fd;
  return true;
}

void toSyslog(bool on) {
  std::lock_guard lock(settings().mu);
  settings().syslog = on ? std::make_unique<Syslog>() : nullptr;
}

void setHook(void (*beforeLine)(), void (*afterLine)()) {
  std::lock_guard lock(settings().mu);
  settings().before = beforeLine;
  settings().after = afterLine;
}

void write(Level level, const char* function, const char* file, int line, std::string_view message) {
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  const Look how = look(level);
  Settings& s = settings();
  std::lock_guard lock(s.mu);
  const bool colour = s.colour && s.fd == STDERR_FILENO && isatty(STDERR_FILENO) == 1;
  std::string out = s.idPrefix;
  appendTime(out);
  out += ' ';
  const size_t afterTime = out.size();
  out += fmt::format("juicefs[{}] <", getpid());
  if (colour)
    out += fmt::format("\033[1;{}m{}\033[0m", how.colour, how.word);
  else
    out += how.word;
  out += fmt::format(">: {} [{}@{}:{}]\n", message, function, file, line);
  if (s.before && s.fd == STDERR_FILENO) s.before();
  writeAll(s.fd, out);
  if (s.after && s.fd == STDERR_FILENO) s.after();
  if (s.syslog) (void)s.syslog->write(how.severity, std::string_view(out).substr(afterTime, out.size() - afterTime - 1));
}

void die(const char* function, const char* file, int line, std::string_view message) {
  write(Level::fatal, function, file, line, message);
  // Not exit(): other threads still run, and destructors of statics would pull the ground from under them.
  fflush(nullptr);
  _exit(1);
}

}  // namespace aquifer::log
