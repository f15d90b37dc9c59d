// `profile`: which operations cost the time, from the access log of a mount or from a file with such a log.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "cli/access_log_line.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/errno_text.h"
#include "cli/mount_path.h"
#include "cli/values.h"
#include "cli/virtual_file.h"

namespace aquifer::cli {

namespace {

constexpr size_t kLineLimit = 1u << 20;   // a longer one is no line of a log
constexpr const char* kNoTime = "0001-01-01T00:00:00";

std::string wallText() { return localTimeText(unixSeconds(), "%Y-%m-%dT%H:%M:%S"); }

class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}
  ~LineReader() { ::close(fd_); }
  // False: the end, or a failed read.
  bool next(std::string* line) {
    for (;;) {
      auto end = buffer_.find('\n', at_);
      if (end != std::string::npos) {
        line->assign(buffer_, at_, end - at_);
        at_ = end + 1;
        return true;
      }
      buffer_.erase(0, at_);
      at_ = 0;
      if (buffer_.size() > kLineLimit) buffer_.clear();
      char bytes[65536];
      auto n = ::read(fd_, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      buffer_.append(bytes, static_cast<size_t>(n));
    }
  }
  bool holdsLine() const { return buffer_.find('\n', at_) != std::string::npos; }

 private:
  const int fd_;
  std::string buffer_;
  size_t at_ = 0;
};

class Profiler {
 public:
  Profiler(int fd, AccessFilter filter, int64_t seconds) : lines_(fd), filter_(std::move(filter)), seconds_(seconds), clear_(isatty(STDOUT_FILENO)) {}

  void total() {
    int64_t first = 0, last = 0;
    std::string text;
    while (lines_.next(&text)) {
      auto line = parseAccessLine(text);
      if (!line || !filter_.takes(*line)) continue;
      if (!first) first = line->unixMicros;
      last = line->unixMicros;
      table_.add(*line);
    }
    print("", static_cast<double>(last - first) / 1e6, last ? logTimeText(last) : kNoTime);
  }

  // Reads of the log come back at least once a second, so tables are at most that late.
  void live() {
    print("", static_cast<double>(seconds_), wallText());
    int64_t next = monotonicNanos() + seconds_ * 1'000'000'000;
    std::string text;
    while (lines_.next(&text)) {
      auto line = parseAccessLine(text);
      if (line && filter_.takes(*line)) table_.add(*line);
      if (monotonicNanos() < next || lines_.holdsLine()) continue;
      print("", static_cast<double>(seconds_), wallText());
      table_.clear();
      next = std::max(next + seconds_ * 1'000'000'000, monotonicNanos());
    }
    LOG_FATAL("the access log ended: the mount is gone");
  }

  // As fast as it once happened.
  void replay() {
    print("(replaying)", static_cast<double>(seconds_), wallText());
    int64_t edge = 0, last = 0;
    std::string text;
    while (lines_.next(&text)) {
      auto line = parseAccessLine(text);
      if (!line || !filter_.takes(*line)) continue;
      if (!edge) edge = line->unixMicros + seconds_ * 1'000'000;
      while (line->unixMicros >= edge) {
        pause();
        print("(replaying)", static_cast<double>(seconds_), logTimeText(edge));
        table_.clear();
        edge += seconds_ * 1'000'000;
      }
      table_.add(*line);
      last = line->unixMicros;
    }
    if (last) pause();
    print("(replay done)", static_cast<double>(seconds_), last ? logTimeText(last) : kNoTime);
  }

 private:
  void print(const char* state, double seconds, const std::string& when) {
    if (clear_) std::fputs("\033[2J\033[1;1H", stdout);
    std::fputs(table_.render(state, seconds, when).c_str(), stdout);
    std::fflush(stdout);
  }

  // Waits for one interval; Enter stops the clock until the next Enter. The end of the input is no Enter.
  void pause() {
    int64_t until = monotonicNanos() + seconds_ * 1'000'000'000;
    for (;;) {
      auto left = (until - monotonicNanos()) / 1'000'000;
      if (left <= 0) return;
      pollfd in{keys_ ? STDIN_FILENO : -1, POLLIN, 0};
      if (::poll(&in, 1, static_cast<int>(std::min<int64_t>(left, 1000))) <= 0 || !enter()) continue;
      std::fputs(clear_ ? "\033[97mPaused. Press [enter] to continue.\n\033[0m" : "Paused. Press [enter] to continue.\n", stdout);
      std::fflush(stdout);
      enter();
    }
  }
  bool enter() {
    char keys[256];
    keys_ = ::read(STDIN_FILENO, keys, sizeof keys) > 0;
    return keys_;
  }

  LineReader lines_;
  const AccessFilter filter_;
  const int64_t seconds_;
  const bool clear_;
  bool keys_ = true;
  ProfileTable table_;
};

int run(const Args& args) {
  auto path = absolutePath(args.at(0));
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) LOG_FATAL("Failed to stat path \"{}\": stat {}: {}", args.at(0), args.at(0), errnoText(errno));
  bool file = S_ISREG(st.st_mode);
  if (!file) {
    if (!S_ISDIR(st.st_mode) || st.st_ino != 1) LOG_FATAL("Path \"{}\" is not a mount point!", args.at(0));
    path = virtualFile(path, "accesslog");
    if (path.empty()) LOG_FATAL("Path \"{}\" is not a mount point!", args.at(0));
  }
  auto seconds = args.integer("interval");
  if (!file && seconds <= 0) LOG_FATAL("Interval must be > 0 for real time mode!");
  if (seconds < 0 || seconds > 86400) LOG_FATAL("interval is {}; it takes 0 to 86400 seconds", seconds);
  AccessFilter filter;
  std::vector<std::string> bad;
  filter.uids = parseIds(args.text("uid"), &bad);
  filter.gids = parseIds(args.text("gid"), &bad);
  filter.pids = parseIds(args.text("pid"), &bad);
  for (auto& word : bad) LOG_WARN("{} is no number: left out", cli::quoted(word));
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) LOG_FATAL("Failed to open log file {}: {}", path, errnoText(errno));
  Profiler profiler(fd, std::move(filter), seconds);
  if (!file) profiler.live();
  else if (seconds == 0) profiler.total();
  else profiler.replay();
  return 0;
}

}  // namespace

Command profileCommand() {
  using enum OptionType;
  return {"profile",
          "INSPECTOR",
          "Show which operations take the time",
          "MOUNTPOINT/LOGFILE",
          "Examples:\n# As it happens\n$ juicefs profile /mnt/jfs\n\n# Replay a log\n$ cat /mnt/jfs/.accesslog > /tmp/access.log\n$ juicefs profile "
          "/tmp/access.log\n\n# The sums of a log, at once\n$ juicefs profile /tmp/access.log --interval 0",
          {{"",
            {
                {"uid,u", text, "", "only these users (separated by commas)"},
                {"gid,g", text, "", "only these groups (separated by commas)"},
                {"pid,p", text, "", "only these processes (separated by commas)"},
                {"interval", integer, "2", "seconds from table to table; 0: the sums of a log file at once"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
