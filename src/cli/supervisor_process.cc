#include "cli/supervisor_process.h"
#include "base/proc_stat.h"
#include "base/text_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace aquifer::cli {
namespace {

// Without what ends it: a newline, or the zeros of a command line.
std::string lineOf(const std::string& path) {
  std::string s = fileText(path);
  while (!s.empty() && (s.back() == '\n' || s.back() == '\0')) s.pop_back();
  return s;
}

// fork() in a process with one thread: the child may do anything before exec.
void becomeChild() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int s : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGPIPE}) signal(s, SIG_DFL);
}

}  // namespace

std::string ownProgram() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return "/proc/self/exe";
  std::string s(path, static_cast<size_t>(n));
  constexpr std::string_view kDeleted = " (deleted)";
  if (s.ends_with(kDeleted)) s.resize(s.size() - kDeleted.size());
  return access(s.c_str(), X_OK) == 0 ? s : "/proc/self/exe";
}

Result<pid_t> startWorker(const std::string& program, const std::vector<std::string>& argv,
                          const std::vector<std::string>& environment, const std::vector<int>& inherited) {
  std::vector<char*> args, env;
  std::vector<std::string> texts = argv, extra = environment;
  for (auto& a : texts) args.push_back(a.data());
  args.push_back(nullptr);
  for (char** e = environ; *e; ++e) {
    const std::string_view old = *e;
    bool replaced = false;
    for (const auto& x : extra) replaced |= old.starts_with(x.substr(0, x.find('=') + 1));
    if (!replaced) env.push_back(*e);
  }
  for (auto& x : extra) env.push_back(x.data());
  env.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return Status(Code::io, std::string("fork: ") + std::strerror(errno));
  if (pid == 0) {
    becomeChild();
    for (int fd : inherited) fcntl(fd, F_SETFD, 0);
    execve(program.c_str(), args.data(), env.data());
    execve("/proc/self/exe", args.data(), env.data());
    _exit(127);
  }
  return pid;
}

Result<pid_t> startProbe(const std::string& mountPoint, const std::string& configName) {
  const pid_t pid = fork();
  if (pid < 0) return Status(Code::io, std::string("fork: ") + std::strerror(errno));
  if (pid > 0) return pid;
  becomeChild();
  // Not one descriptor of the session: a probe that hangs must not keep the connection alive.
  close_range(0, ~0u, 0);
  if (chdir("/") != 0) _exit(1);
  struct stat st {};
  if (stat(mountPoint.c_str(), &st) != 0 || st.st_ino != 1) _exit(1);
  _exit(stat((mountPoint + "/" + configName).c_str(), &st) == 0 ? 0 : 1);
}

std::vector<std::string> describeThreads(pid_t pid) {
  constexpr size_t kMaxLines = 200;
  std::vector<std::string> out;
  const std::string base = "/proc/" + std::to_string(pid) + "/task/";
  DIR* dir = opendir(base.c_str());
  if (!dir) return out;
  while (const dirent* e = readdir(dir)) {
    if (e->d_name[0] == '.' || out.size() >= kMaxLines) continue;
    const std::string t = base + e->d_name;
    std::string stack = lineOf(t + "/stack");
    for (char& c : stack) c = c == '\n' ? ' ' : c;
    out.push_back(std::string("thread ") + e->d_name + " [" + lineOf(t + "/comm") + "] wchan=" + lineOf(t + "/wchan") +
                  " syscall=" + lineOf(t + "/syscall") + (stack.empty() ? "" : " stack=" + stack.substr(0, 400)));
  }
  closedir(dir);
  return out;
}

char processState(pid_t pid) {
  const auto stat = procStat("/proc/" + std::to_string(pid));
  return stat ? stat->state : 0;
}

bool isTraced(pid_t pid) {
  const std::string status = lineOf("/proc/" + std::to_string(pid) + "/status");
  const size_t at = status.find("TracerPid:");
  return at != std::string::npos && std::atoi(status.c_str() + at + 10) != 0;
}

bool inContainer() {
  if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 || getenv("KUBERNETES_SERVICE_HOST"))
    return true;
  const char* kind = getenv("container");
  if (kind && *kind) return true;
  const std::string cgroups = lineOf("/proc/1/cgroup");
  for (const char* word : {"docker", "kubepods", "containerd", "libpod", "lxc"})
    if (cgroups.find(word) != std::string::npos) return true;
  return false;
}

bool kernelCanResend() {
  utsname name{};
  int major = 0, minor = 0;
  if (uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 9);
}

void raiseDescriptorLimit() {
  for (rlim_t want = 100'000; want >= 4096; want /= 2) {
    rlimit now{};
    getrlimit(RLIMIT_NOFILE, &now);
    if (now.rlim_cur >= want) return;
    rlimit next{want, now.rlim_max > want ? now.rlim_max : want};
    if (setrlimit(RLIMIT_NOFILE, &next) == 0) return;
  }
}

void protectFromOom() {
  if (geteuid() != 0 || inContainer()) return;
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "-1000", 5);
  close(fd);
}

}  // namespace aquifer::cli
