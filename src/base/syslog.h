// Lines for the system's log daemon, by its socket. A line that cannot go out at once is lost: a stuck daemon must not stop
// the program (as syslog(3) would). Not thread-safe; the log holds a lock around it.
#pragma once

#include <string>
#include <string_view>

namespace aquifer::log {

class Syslog {
 public:
  explicit Syslog(std::string socketPath = "/dev/log") : path_(std::move(socketPath)) {}
  Syslog(const Syslog&) = delete;
  Syslog& operator=(const Syslog&) = delete;
  ~Syslog();
  // severity: LOG_INFO and so on; the facility is USER. False when the line was lost.
  bool write(int severity, std::string_view line);

 private:
  bool connect();
  const std::string path_;
  int fd_ = -1;
};

}  // namespace aquifer::log
