#include "cli/mount_worker.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <thread>

#include "access/fuse/crash_state.h"
#include "access/fuse/read_ahead.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/page_ledger.h"
#include "base/thread_pool.h"
#include "base/version.h"
#include "cli/main.h"
#include "cli/memory_guard.h"
#include "cli/memory_plan.h"
#include "cli/mount_backup.h"
#include "cli/mount_config_json.h"
#include "cli/mount_http.h"
#include "cli/mount_metrics.h"
#include "cli/mount_plan.h"
#include "cli/mount_state_file.h"
#include "cli/supervisor_socket.h"
#include "cli/values.h"
#include "cli/volume.h"
#include "meta/ops/metered_meta.h"
#include "vfs/data_hooks.h"

namespace aquifer::cli {
namespace {

constexpr int kExitUnmount = 11, kExitHandedOver = 1;
constexpr int64_t kUnmountPatienceMs = 30'000;

uint64_t numberFrom(const std::string& text) {
  uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

// "5:6:7": the state memory and the descriptors that the supervisor holds with us.
std::vector<int> inheritedDescriptors() {
  std::vector<int> out;
  std::stringstream list(environment("_AQUIFER_STATE"));
  for (std::string word; std::getline(list, word, ':');) {
    const int fd = static_cast<int>(numberFrom(word));
    if (fd > 2 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) out.push_back(fd);
  }
  return out;
}

metrics::Labels metricLabels(const Args& args, const MountPlan& plan, const meta::Format& format) {
  metrics::Labels labels{
      {"instance", hostName()}, {"juicefs_version", kVersion}, {"mp", plan.mountPoint}, {"vol_name", format.name}};
  std::stringstream list(args.text("custom-labels"));
  for (std::string pair; std::getline(list, pair, ';');) {
    const size_t colon = pair.find(':');
    if (colon == std::string::npos || colon == 0) LOG_FATAL("invalid label \"{}\": it should be key:value", pair);
    labels.emplace_back(pair.substr(0, colon), pair.substr(colon + 1));
  }
  return labels;
}

class Worker {
 public:
  explicit Worker(const Args& args) : args_(args), plan_(mountPlanOrDie(args)) {}
  int run();

 private:
  void becomeService();
  void openVolume();
  void boundMemory();
  void openServers();
  vfs::VfsConfig vfsConfig();
  void openSession();
  void watchSignals();
  void onTerminate();
  void onHandOver();
  void beatLoop();
  void shutDown(int code);  // flush, close the session, leave
  std::string configText();

  const Args& args_;
  MountPlan plan_;
  std::vector<int> inherited_;
  std::unique_ptr<fuse::CrashState> state_;
  std::unique_ptr<meta::Meta> meta_;
  std::unique_ptr<chunk::BlockStore> blocks_;
  std::unique_ptr<vfs::Vfs> vfs_;
  std::unique_ptr<fuse::Server> server_;
  std::unique_ptr<StatusServer> metrics_, debug_;
  std::unique_ptr<MountBackup> backup_;
  std::unique_ptr<MemoryGuard> memory_;
  chunk::BlockConfig blockConfig_;
  std::mutex mu_;  // of format_
  meta::Format format_;
  ConfigFacts facts_;
  std::string takenPath_;  // where the predecessor's state file would be
  sigset_t signals_{};
  std::atomic<bool> ended_{false}, serving_{false};
  std::mutex endMu_;
  std::condition_variable end_;
};

void Worker::becomeService() {
  sigemptyset(&signals_);
  for (int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals_, s);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // every thread inherits it; one waits for them
  signal(SIGPIPE, SIG_IGN);
  // Dies with its supervisor? No: a supervisor that was killed leaves a mount that goes on working.
  setpriority(PRIO_PROCESS, 0, -19);
  if (plan_.noThp) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  if (plan_.background) {
    if (plan_.syslog) log::toSyslog(true);
    if (!log::toFile(plan_.logFile)) LOG_WARN("cannot write the log file {}", plan_.logFile);
  }
  inherited_ = inheritedDescriptors();
  facts_.pid = getpid();
  facts_.ppid = getppid();
  facts_.commPath = environment("_FUSE_FD_COMM");
  facts_.statePath = "/tmp/state" + std::to_string(facts_.ppid) + ".json";
  takenPath_ = environment("_FUSE_STATE_PATH");
  if (takenPath_.empty()) takenPath_ = facts_.statePath;
}

void Worker::openVolume() {
  OpenMetaOptions options;
  options.config = metaConfig(args_, plan_.mountPoint);
  options.powerSafe = args_.flag("power-safe");
  options.cacheBytes = engineShare(plan_.memoryMax);
  options.config.readOnly = plan_.readOnly;
  options.config.noBgJob |= plan_.readOnly;
  options.config.reuseSid = numberFrom(environment("_JFS_META_SID"));
  auto volume = openVolumeOrDie(plan_.url, options);
  meta_ = meta::metered(std::move(volume.meta));
  format_ = std::move(volume.format);
  setVolume(plan_, format_);
  metrics::setConstLabels(metricLabels(args_, plan_, format_));
  registerMountMetrics(*meta_, options.config.subdir);
  auto objects = openStorage(format_, &args_);
  if (!objects) LOG_FATAL("object storage: {}", objects.status().text());
  blockConfig_ = blockConfig(format_, &args_);
  boundMemory();
  auto blocks = chunk::openBlockStore(std::move(*objects), blockConfig_);
  if (!blocks) LOG_FATAL("block store: {}", blocks.status().text());
  blocks_ = std::move(*blocks);
  facts_.cacheDirs = blocks_->cacheDirList();
  if (plan_.memoryMax) memory_ = std::make_unique<MemoryGuard>(plan_.memoryMax, [this] { blocks_->dropReadBuffers(); });
  vfs::wireDataHooks(*meta_, *blocks_);
  meta_->onFatal([this](const std::string& why) {
    LOG_ERROR("{}: unmounting", why);
    (void)fuse::unmountFuse(plan_.mountPoint, true).isOk();
    _exit(kExitUnmount);
  });
  meta_->onFormatChange([this](const meta::Format& f) {
    auto limits = storeConfig(f, &args_);
    if (limits) blocks_->setLimits(limits->uploadLimitBps, limits->downloadLimitBps);
    std::lock_guard lock(mu_);
    format_ = f;
  });
}

// Before anything takes memory that would have to be given back.
void Worker::boundMemory() {
  if (!plan_.memoryMax) return;
  auto memory = planMemory(plan_.memoryMax, plan_.server.maxWrite, format_.encrypted(), blockConfig_);
  if (!memory) LOG_FATAL("{}", memory.status().text());
  PageLedger::install(memory->pageCache);
  plan_.server.maxWrite = plan_.mount.maxRead = memory->maxWrite;
  plan_.server.maxThreads = memory->serverThreads;
  // Few arenas and no sliding thresholds: what is freed goes back to the kernel.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
  LOG_INFO("memory: at most {}, of which buffers {}, pages on their way to disk {}, {} threads with requests of {}",
           shortSize(plan_.memoryMax), shortSize(blockConfig_.bufferSize), shortSize(memory->pageCache), memory->serverThreads,
           shortSize(memory->maxWrite));
}

std::string Worker::configText() {
  std::lock_guard lock(mu_);
  return mountConfigJson(args_, plan_, format_, blockConfig_, facts_);
}

vfs::VfsConfig Worker::vfsConfig() {
  vfs::VfsConfig v = plan_.vfs;
  v.configJson = [this] { return configText(); };
  v.statsText = [] { return metrics::statsText(); };
  return v;
}

void Worker::openServers() {
  const bool given = args_.isSet("metrics");
  auto m = serveMetrics(args_.text("metrics"), !given);
  if (m) {
    metrics_ = std::move(*m);
    facts_.metricsAddress = metrics_->address();
    LOG_INFO("Prometheus metrics listening on \"{}\"", facts_.metricsAddress);
  } else if (m.is(Code::config)) {
    LOG_FATAL("{}", m.status().text());
  } else {
    LOG_ERROR("{}", m.status().text());
  }
  if (globalSettings().noAgent) return;
  if (auto d = serveDebug()) {
    debug_ = std::move(*d);
    facts_.debugAddress = debug_->address();
  }
}

void Worker::openSession() {
  FuseSession session;
  if (!facts_.commPath.empty()) {
    auto kept = fetchSession(facts_.commPath);
    if (kept)
      session = *std::move(kept);
    else
      LOG_WARN("no session from the supervisor: {}", kept.status().text());
  }
  const bool adopting = session.fd >= 0;
  if (!adopting) {
    auto fd = fuse::mountFuse(plan_.mount);
    if (!fd) LOG_FATAL("fuse: {}", fd.status().text());
    session.fd = *fd;
  }
  // A session row only once there is something to serve: a failed start leaves none behind.
  // (A read-only mount gets no row, but its sub-directory and the quotas come from here too.)
  if (auto s = meta_->openSession(); !s) {
    if (!adopting) (void)fuse::unmountFuse(plan_.mountPoint, true).isOk();
    LOG_FATAL("new session: {}", s.text());
  }
  facts_.sid = meta_->sid();

  plan_.server.crashStateFd = inherited_.empty() ? -1 : inherited_[0];
  if (!inherited_.empty()) plan_.server.cloneFds.assign(inherited_.begin() + 1, inherited_.end());
  if (!meta_->store().traits().embedded) plan_.server.quickNanos = 100'000;
  if (!plan_.readOnly) plan_.server.allocateIno = [this] { return meta_->allocateIno(); };
  // Under a supervisor of another kind nothing outlives us; the memory is then ours alone.
  if (plan_.server.crashStateFd < 0)
    if (auto own = fuse::CrashState::create()) plan_.server.crashStateFd = *own;
  if (plan_.server.crashStateFd >= 0) {
    if (auto s = fuse::CrashState::map(plan_.server.crashStateFd)) state_ = std::move(*s);
    if (state_) state_->setSession(facts_.sid);
  }
  // Left by a predecessor that handed over in order; one that died left its handles in the memory instead.
  if (adopting && state_ && access(takenPath_.c_str(), F_OK) == 0) loadStateFile(takenPath_, *state_);
  vfs_ = vfs::makeVfs(*meta_, *blocks_, vfsConfig());
  server_ = fuse::makeServer(session.fd, *vfs_, plan_.server);
  const Status ready = adopting ? server_->adopt(session.init, true) : server_->negotiate();
  if (!ready) {
    if (!adopting) (void)fuse::unmountFuse(plan_.mountPoint, true).isOk();
    LOG_FATAL("fuse: {}", ready.text());
  }
  session.init = server_->initRequest();
  if (!facts_.commPath.empty()) {
    if (auto s = storeSession(facts_.commPath, session); !s) LOG_WARN("the supervisor does not keep the session: {}", s.text());
  }
  if (!plan_.givenDescriptor) fuse::setReadAhead(plan_.mountPoint, plan_.server.maxWrite);
  metrics::gauge("fuse_cloned_descriptors", "descriptors of the mount that threads read from")
      .set(static_cast<double>(plan_.server.cloneFds.size()));
  LOG_INFO("{} volume {} at \"{}\" ({})", adopting ? "Taking over" : "Mounting", format_.name, plan_.mountPoint,
           server_->modeText());
}

void Worker::beatLoop() {
  setThreadName("heartbeat");
  for (uint64_t n = 1; !ended_; ++n) {
    if (state_) state_->beat();
    if (n % 40 == 0) server_->interruptOld();
    sleepMs(250);
  }
}

void Worker::onTerminate() {
  if (auto s = fuse::unmountFuse(plan_.mountPoint, true); !s) LOG_DEBUG("{}", s.text());
  std::unique_lock lock(endMu_);
  if (end_.wait_for(lock, std::chrono::milliseconds(kUnmountPatienceMs), [this] { return ended_.load(); })) return;
  lock.unlock();
  // Files that are still open keep the file system alive after a lazy unmount.
  LOG_WARN("\"{}\" is still in use after {} s: flushing and leaving", plan_.mountPoint, kUnmountPatienceMs / 1000);
  shutDown(kExitUnmount);
}

void Worker::shutDown(int code) {
  const int64_t begun = monotonicNanos();
  backup_.reset();
  const Status flushed = vfs_->flushAll();
  if (flushed)
    LOG_INFO("flush buffered data in {}", durationText(monotonicNanos() - begun));
  else
    LOG_ERROR("flush buffered data: {}", flushed.text());
  if (!plan_.readOnly) {
    if (auto s = meta_->closeSession(); !s) LOG_WARN("close session: {}", s.text());
  }
  (void)blocks_->close().isOk();
  if (code == 0) LOG_INFO("The juicefs mount process exit successfully, mountpoint: \"{}\"", plan_.mountPoint);
  _exit(code);
}

void Worker::onHandOver() {
  LOG_INFO("handing the session over");
  backup_.reset();
  vfs_->endCoherence();
  (void)vfs_->flushAll().isOk();
  serving_ = false;
  server_->stop();
  if (auto s = vfs_->flushAll(); !s) LOG_ERROR("flush: {}", s.text());
  if (state_) {
    if (auto s = saveStateFile(facts_.statePath, *state_, vfs_->nextHandle()))
      state_->clearHandles();  // the file is what counts now
    else
      LOG_WARN("{}", s.text());
  }
  if (!plan_.readOnly) {
    if (auto s = meta_->flushSession(); !s) LOG_WARN("flush session: {}", s.text());
  }
  (void)blocks_->close().isOk();
  _exit(kExitHandedOver);
}

void Worker::watchSignals() {
  setThreadName("signals");
  while (true) {
    int got = 0;
    if (sigwait(&signals_, &got) != 0) continue;
    LOG_INFO("received signal {}", got);
    if (got == SIGHUP)
      onHandOver();
    else
      std::thread([this] { onTerminate(); }).detach();
  }
}

int Worker::run() {
  becomeService();
  openVolume();
  openServers();
  openSession();
  serving_ = true;
  if (state_) state_->beat();  // says that this process serves, before the first answer does
  std::thread([this] { beatLoop(); }).detach();
  if (plan_.backupMetaNanos > 0 && !plan_.readOnly && !args_.flag("no-bgjob"))
    backup_ = std::make_unique<MountBackup>(*meta_, blocks_->objects(), BackupConfig{plan_.backupMetaNanos, plan_.backupSkipTrash});
  std::thread([this] { watchSignals(); }).detach();
  const Status served = server_->serve();
  if (!serving_) {  // the hand-over ends the process
    while (true) pause();
  }
  {
    std::lock_guard lock(endMu_);
    ended_ = true;
  }
  end_.notify_all();
  if (!served) LOG_ERROR("{}", served.text());
  shutDown(served ? 0 : kExitHandedOver);
  return 0;
}

}  // namespace

int runMountWorker(const Args& args) { return Worker(args).run(); }

}  // namespace aquifer::cli
