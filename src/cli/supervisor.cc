#include "cli/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>

#include "access/fuse/crash_state.h"
#include "access/fuse/device.h"
#include "access/fuse/server.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/supervisor_process.h"
#include "cli/supervisor_socket.h"
#include "cli/values.h"

namespace aquifer::cli {
namespace {

constexpr int kExitUnmount = 11;  // of a worker: unmount and stop
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kTermPatience = 60 * kSecond;  // after TERM a worker unmounts and flushes; then it is killed

double elapsed(int64_t since) { return static_cast<double>(monotonicNanos() - since) / 1e9; }

class Supervisor {
 public:
  explicit Supervisor(const SupervisorConfig& config) : config_(config) {
    if (const char* keeper = getenv("JFS_SUPER_COMM"); keeper && *keeper) keeper_ = keeper;
  }
  ~Supervisor() {
    for (int fd : clones_) close(fd);
    if (stateFd_ >= 0) close(stateFd_);
    if (signals_ >= 0) close(signals_);
  }
  int run();

 private:
  Status prepare();
  Status freshState();
  void start();
  void step(int timeoutMs);
  void readSignals();
  void forward(int signal);
  void reap();
  void workerEnded(int status);
  void watch(double dt);
  void probe();
  void probeEnded(bool good);
  void replace(const std::string& why);
  void becameReady();
  void finish(int code, const std::string& problem = {});
  void copyToKeeper();

  const SupervisorConfig config_;
  std::string keeper_;
  SessionListener listener_;
  int signals_ = -1, stateFd_ = -1;
  std::vector<int> clones_;
  std::unique_ptr<fuse::CrashState> state_;
  std::string keptInit_;  // what the keeper has

  pid_t worker_ = -1, probe_ = -1;
  int64_t workerStarted_ = 0, probeStarted_ = 0, nextStart_ = 0, lastProbe_ = 0, termSent_ = 0;
  bool workerReady_ = false, everReady_ = false, dumped_ = false, killed_ = false, stopping_ = false;
  uint64_t lastBeats_ = 0, beatsAtStart_ = 0, sid_ = 0;
  double silent_ = 0, unanswered_ = 0;  // seconds, counted in steps of this loop: time in which we slept too does not count
  std::deque<int64_t> failures_;
  int starts_ = 0;
  bool done_ = false;
  int code_ = 0;
};

Status Supervisor::prepare() {
  sigset_t set;
  sigemptyset(&set);
  for (int s : {SIGCHLD, SIGPIPE}) sigaddset(&set, s);
  if (keeper_.empty())
    for (int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return Status(Code::io, std::string("signalfd: ") + std::strerror(errno));
  raiseDescriptorLimit();
  protectFromOom();
  TRY(listener_.listen("/tmp/fuse_fd_comm." + std::to_string(getpid())));
  if (config_.sessionFd >= 0) listener_.keep({config_.sessionFd, config_.sessionInit});
  if (!keeper_.empty()) {
    if (auto s = fetchSession(keeper_); s && s->fd >= 0)
      listener_.keep(*s);
    else if (!s)
      LOG_WARN("keeper {}: {}", keeper_, s.status().text());
  }
  sid_ = config_.sid;
  unlink(("/tmp/state" + std::to_string(getpid()) + ".json").c_str());  // of a process that had our number before
  return freshState();
}

// New memory and new descriptors for a new connection; what stands in the old ones is of no use to it.
Status Supervisor::freshState() {
  state_.reset();
  if (stateFd_ >= 0) close(stateFd_);
  for (int fd : clones_) close(fd);
  clones_.clear();
  TRY_ASSIGN(stateFd_, fuse::CrashState::create());
  TRY_ASSIGN(state_, fuse::CrashState::map(stateFd_));
  // Requests that were taken over a descriptor which outlives the worker have to be asked for again; a kernel that cannot do so
  // must see that descriptor die instead, or their callers would wait for ever. The worker then opens its own.
  if (!kernelCanResend()) return {};
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  for (long i = 0; i < std::clamp(cores, 2l, 8l); ++i) {
    auto fd = fuse::openDevice();
    if (!fd) break;  // the worker says what is wrong
    clones_.push_back(*fd);
  }
  return {};
}

void Supervisor::start() {
  const bool session = listener_.session().fd >= 0;
  if (!session && starts_ > 0) {
    if (auto s = freshState(); !s) return finish(1, s.text());
    // What the last attempt left behind would be in the way.
    if (!config_.givenDescriptor) umount2(config_.mountPoint.c_str(), MNT_DETACH);
  }
  ++starts_;
  std::vector<int> inherited{stateFd_};
  std::string state = std::to_string(stateFd_);
  for (int fd : clones_) inherited.push_back(fd), state += ":" + std::to_string(fd);
  std::vector<std::string> env{"JFS_SUPERVISOR=" + std::to_string(getpid()), "_FUSE_FD_COMM=" + listener_.path(),
                               "_AQUIFER_STATE=" + state};
  if (uint64_t now = state_->session()) sid_ = now;
  if (sid_) env.push_back("_JFS_META_SID=" + std::to_string(sid_));
  if (!config_.statePath.empty() && starts_ == 1) env.push_back("_FUSE_STATE_PATH=" + config_.statePath);
  auto pid = startWorker(ownProgram(), config_.argv, env, inherited);
  if (!pid) return finish(1, pid.status().text());
  worker_ = *pid;
  workerStarted_ = monotonicNanos();
  workerReady_ = dumped_ = killed_ = false;
  silent_ = unanswered_ = 0;
  lastBeats_ = beatsAtStart_ = state_->beats();
  lastProbe_ = 0;
}

void Supervisor::forward(int signal) {
  if (worker_ > 0) kill(worker_, signal);
  if (signal == SIGHUP) return;
  stopping_ = true;
  if (!termSent_) termSent_ = monotonicNanos();
  if (worker_ <= 0) {  // between two workers: nothing to flush, only to unmount
    (void)fuse::unmountFuse(config_.mountPoint, true).isOk();
    finish(0);
  }
}

void Supervisor::readSignals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == sizeof info) {
    switch (info.ssi_signo) {
      case SIGTERM:
      case SIGINT:
      case SIGHUP: forward(static_cast<int>(info.ssi_signo)); break;
      default: break;  // SIGCHLD: reap() follows in any case
    }
  }
}

void Supervisor::reap() {
  int status = 0;
  if (worker_ > 0 && waitpid(worker_, &status, WNOHANG) == worker_) workerEnded(status);
  if (probe_ > 0 && waitpid(probe_, &status, WNOHANG) == probe_) {
    probe_ = -1;
    probeEnded(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

void Supervisor::workerEnded(int status) {
  worker_ = -1;
  // Its last words on the socket, a session to keep above all, may still be unread.
  listener_.handle(-1);
  const int64_t now = monotonicNanos();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return finish(0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitUnmount) {
    if (!config_.givenDescriptor) umount2(config_.mountPoint.c_str(), MNT_DETACH);
    return finish(0);
  }
  if (listener_.transferred()) {
    LOG_INFO("transfer FUSE session to others");
    return finish(0);
  }
  if (stopping_) {
    (void)fuse::unmountFuse(config_.mountPoint, true).isOk();
    return finish(WIFSIGNALED(status) ? 1 : 0);
  }
  const std::string how = WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                                              : "exited with " + std::to_string(WEXITSTATUS(status));
  // A worker that never served, or that dies by its own fault again and again, is not worth more attempts. Killing comes from outside:
  // once the mount has worked, nobody who kills workers, the out-of-memory killer above all, may end it. Whether one served is told by its
  // heartbeat, which begins with that; our look from outside may come too late.
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const bool served = state_->beats() != beatsAtStart_;
  const bool fault = killed ? !everReady_ && !served : !served || WIFSIGNALED(status);
  state_->setCrashed(WIFSIGNALED(status) && !killed);
  if (elapsed(workerStarted_) > 10) failures_.clear();
  if (fault) failures_.push_back(workerStarted_);
  if (failures_.size() > 3) failures_.pop_front();
  LOG_WARN("mount process {}, starting another{}", how, listener_.session().fd >= 0 ? " over the same session" : "");
  if (failures_.size() == 3 && elapsed(failures_.front()) < 10) {
    const auto text = "fail 3 times in " + durationText(now - failures_.front()) + ", give up";
    LOG_ERROR("{}", text);
    return finish(1, text);
  }
  nextStart_ = now + (failures_.size() > 1 ? kSecond : served ? 0 : kSecond / 5);
}

void Supervisor::probe() {
  if (config_.givenDescriptor) {
    if (!workerReady_ && worker_ > 0 && state_->beats() != lastBeats_) becameReady();
    return;
  }
  if (probe_ > 0) return;
  const int64_t now = monotonicNanos();
  const int64_t every = workerReady_ ? 5 * kSecond : kSecond / 20;
  if (now - lastProbe_ < every) return;
  // Before anything is mounted a look from outside says nothing.
  if (!workerReady_ && state_->beats() == lastBeats_ && listener_.session().fd < 0) return;
  lastProbe_ = now;
  auto pid = startProbe(config_.mountPoint, config_.configName);
  if (!pid) return;
  probe_ = *pid, probeStarted_ = now;
}

void Supervisor::probeEnded(bool good) {
  if (!good) return;
  unanswered_ = 0, dumped_ = false;
  if (!workerReady_ && worker_ > 0 && probeStarted_ >= workerStarted_) becameReady();
}

void Supervisor::becameReady() {
  workerReady_ = true;
  failures_.clear();
  if (everReady_) {
    LOG_INFO("the mount answers again, {} after the new process was started", durationText(monotonicNanos() - workerStarted_));
    return;
  }
  everReady_ = true;
  LOG_INFO("watching \"{}\", pid {}", config_.mountPoint, worker_);
  if (config_.announce) LOG_INFO("\033[92mOK\033[0m, {} is ready at \"{}\"", config_.volumeName, config_.mountPoint);
  if (config_.readyFd >= 0) {
    (void)!::write(config_.readyFd, "ready", 5);
    close(config_.readyFd);
  }
}

void Supervisor::replace(const std::string& why) {
  LOG_ERROR("mount process {} {}; killing it", worker_, why);
  for (const auto& line : describeThreads(worker_)) LOG_WARN("{}", line);
  killed_ = true;
  kill(worker_, SIGKILL);
}

void Supervisor::watch(double dt) {
  if (worker_ <= 0 || killed_) return;
  if (termSent_ && monotonicNanos() - termSent_ > kTermPatience) return replace("did not end after SIGTERM");
  const uint64_t beats = state_->beats();
  silent_ = beats == lastBeats_ ? silent_ + dt : 0;
  if (beats != lastBeats_) lastBeats_ = beats;
  // No heartbeat is expected of a worker that is still opening the volume: the first one may take its time, its launcher has a
  // limit of its own. For a successor applications are waiting.
  if (!workerReady_) {
    if (everReady_ && elapsed(workerStarted_) > kStartSeconds && !isTraced(worker_)) replace("has not begun to serve");
    return;
  }
  if (probe_ > 0) unanswered_ += dt;
  if (silent_ < kStoppedSeconds && unanswered_ < kHungSeconds) {
    if (unanswered_ > kHungSeconds / 2 && !dumped_) {
      dumped_ = true;
      LOG_WARN("\"{}\" has not answered for {:.0f} seconds", config_.mountPoint, unanswered_);
      for (const auto& line : describeThreads(worker_)) LOG_WARN("{}", line);
    }
    return;
  }
  if (isTraced(worker_)) return;
  const char state = processState(worker_);
  if (state == 'T') return replace("is stopped");
  replace(silent_ >= kStoppedSeconds ? "gives no sign of life" : "does not answer requests");
}

void Supervisor::copyToKeeper() {
  const auto& s = listener_.session();
  if (keeper_.empty() || s.fd < 0 || s.init == keptInit_) return;
  if (auto stored = storeSession(keeper_, s); !stored) LOG_WARN("keeper {}: {}", keeper_, stored.text());
  keptInit_ = s.init;
}

void Supervisor::finish(int code, const std::string& problem) {
  done_ = true;
  code_ = code;
  if (!problem.empty()) {
    // Aborts the connection: applications get an error instead of waiting for ever for a process that will not come.
    if (keeper_.empty() && !config_.givenDescriptor && starts_ > 0) umount2(config_.mountPoint.c_str(), MNT_FORCE | MNT_DETACH);
    if (config_.readyFd >= 0 && !everReady_) (void)!::write(config_.readyFd, problem.data(), problem.size());
  }
}

void Supervisor::step(int timeoutMs) {
  std::vector<pollfd> fds{{signals_, POLLIN, 0}};
  for (int fd : listener_.descriptors()) fds.push_back({fd, POLLIN, 0});
  poll(fds.data(), fds.size(), timeoutMs);
  readSignals();
  listener_.handle(worker_);
  copyToKeeper();
  if (!done_) reap();
}

int Supervisor::run() {
  if (auto s = prepare(); !s) {
    finish(1, s.text());
    LOG_ERROR("{}", s.text());
    return 1;
  }
  int64_t last = monotonicNanos();
  while (!done_) {
    const int64_t now = monotonicNanos();
    if (worker_ <= 0 && now >= nextStart_) start();
    if (done_) break;
    probe();
    watch(std::min(static_cast<double>(now - last) / 1e9, 1.0));
    last = now;
    step(workerReady_ ? 500 : 20);
  }
  return code_;
}

}  // namespace

int superviseMount(const SupervisorConfig& config) { return Supervisor(config).run(); }

}  // namespace aquifer::cli
