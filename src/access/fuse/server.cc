#include "access/fuse/server.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <list>
#include <thread>

#include "access/fuse/crash_state.h"
#include "access/fuse/device.h"
#include "access/fuse/dispatcher.h"
#include "access/fuse/listeners.h"
#include "access/fuse/lock_waiters.h"
#include "access/fuse/negotiate.h"
#include "access/fuse/notifier.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread_pool.h"

namespace aquifer::fuse {
namespace {

constexpr size_t kRequestBytes = (1 << 20) + (64 << 10);  // the largest WRITE, with room for its header
constexpr size_t kSurplusPresent = 132 << 10;             // of the buffers of threads that come and go
constexpr size_t kReplyBytes = (1 << 20) + 4096;
constexpr uint32_t kDeadlyAfter = 2;  // crashes while a request was worked on, until it is refused
constexpr int64_t kLongestRequestNanos = 900'000'000'000;
constexpr int64_t kInterruptAfterNanos = 3'000'000'000, kGiveUpNanos = 10'000'000'000;  // of stop()

// Wakes a thread out of read(2); the handler does nothing.
int wakeSignal() { return SIGRTMIN + 3; }
void installWakeSignal() {
  struct sigaction sa {};
  sa.sa_handler = [](int) {};
  sigaction(wakeSignal(), &sa, nullptr);  // without SA_RESTART
}

class ServerImpl : public Server {
 public:
  ServerImpl(int fd, vfs::Vfs& vfs, const ServerConfig& config)
      : fd_(fd),
        vfs_(vfs),
        config_(config),
        inflight_(CrashState::kThreadNotes + LockWaiters::kWaiting),
        dispatcher_(vfs, config, [this](uint64_t unique) { inflight_.interrupt(unique); }),
        notifier_(fd),
        waiters_(dispatcher_, inflight_) {
    installWakeSignal();
  }
  ~ServerImpl() override {
    stop();
    waiters_.stop();
    notifier_.stop();
    vfs_.setNotifier(nullptr);
    vfs_.setRecorder(nullptr);
    for (int fd : ownClones_) close(fd);
  }

  Status negotiate() override;
  Status adopt(const std::string& init, bool resend) override;
  const std::string& initRequest() const override { return init_; }
  Status serve() override;
  void stop() override;
  void interruptOld() override { inflight_.interruptOlder(kLongestRequestNanos); }
  vfs::Notifier& notifier() override { return notifier_; }
  std::string modeText() const override {
    return clones_.empty() ? "dev-fuse" : "dev-fuse, " + std::to_string(clones_.size()) + " cloned descriptors";
  }

 private:
  struct Thread {
    pthread_t handle{};
    size_t note = 0;    // its place among the notes
    bool base = false;  // one of the first, which stay
    std::atomic<bool> reading{false};
  };
  Status attachState();
  void attachClones();
  bool spawn();
  void threadLoop(Thread& self, int fd);
  void serveOne(int fd, std::span<const std::byte> message, Reply& reply, InflightSlot* slot, JournalEntry& own);

  const int fd_;
  vfs::Vfs& vfs_;
  const ServerConfig config_;
  std::string init_;
  Inflight inflight_;
  std::unique_ptr<CrashState> state_;
  Dispatcher dispatcher_;
  KernelNotifier notifier_;
  LockWaiters waiters_;
  std::vector<int> clones_, ownClones_;

  std::mutex mu_;  // of threads_, nextFd_, failure_
  std::condition_variable changed_;
  std::list<Thread> threads_;
  size_t nextFd_ = 0, usedNotes_ = 0;
  std::vector<size_t> freeNotes_;
  Status failure_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Listeners> listeners_;
};

Status ServerImpl::negotiate() {
  PageBuffer buffer(kRequestBytes, kMinReadBuffer);
  const int64_t deadline = monotonicNanos() + 30'000'000'000;
  while (monotonicNanos() < deadline) {
    pollfd p{fd_, POLLIN, 0};
    if (poll(&p, 1, 1000) <= 0) continue;
    size_t n = 0;
    int error = 0;
    const auto got = readMessage(fd_, buffer.bytes(), &n, &error);
    if (got == ReadOutcome::again) continue;
    if (got != ReadOutcome::message) return Status(Code::io, std::string("read INIT: ") + std::strerror(error));
    Request request;
    InitIn in{};
    if (!request.parse(std::span<const std::byte>(buffer.bytes()).first(n)) || request.op() != Op::init) {
      return Status(Code::io, "the kernel's first request is not INIT");
    }
    const InHeader head = request.head();
    // Kernels before 7.36 send 16 bytes; the rest is zero then.
    std::memcpy(&in, buffer.bytes().data() + sizeof head, std::min(sizeof in, n - sizeof head));
    if (n < sizeof head + 16) return Status(Code::io, "INIT request is cut short");
    const Negotiated result = negotiateInit(in, config_);
    Reply reply(sizeof(InitOut) + 64);
    reply.put(result.out);
    TRY(writeMessage(fd_, reply.finish(head.unique)));
    if (in.major > kProtocolMajor) continue;  // it asks again with our number
    notifier_.setCanExpire(result.flags & kInitHasExpireOnly);
    if (result.tooOld) return Status(Code::unsupported, "the kernel's FUSE protocol is older than 7.12");
    InHeader saved = head;
    saved.len = kInitRequestSize;
    init_.assign(reinterpret_cast<const char*>(&saved), sizeof saved);
    init_.append(reinterpret_cast<const char*>(&in), sizeof in);
    return attachState();
  }
  return Status(Code::timedOut, "no INIT request from the kernel within 30 seconds");
}

Status ServerImpl::adopt(const std::string& init, bool resend) {
  TRY_ASSIGN(const auto in, parseInit(init));
  init_ = init;
  notifier_.setCanExpire(negotiateInit(in, config_).flags & kInitHasExpireOnly);
  TRY(attachState());
  const Survivors survivors = state_->recover();
  if (survivors.nextHandle) vfs_.startHandlesFrom(std::max(vfs_.nextHandle(), survivors.nextHandle));
  for (const auto& h : survivors.handles) vfs_.adoptHandle(h.fh, h.ino, h.flags, h.lost);
  if (!survivors.handles.empty() || survivors.lostInodes) {
    LOG_INFO("adopted {} open handles; {} files had written bytes that were not stored yet", survivors.handles.size(),
             survivors.lostInodes);
  }
  // Not asked whether the kernel offered it: other programs keep the INIT request without the word where that flag stands.
  if (resend) {
    if (auto s = notifyKernel(fd_, Notify::resend, {}); !s)
      LOG_WARN("requests of the old process cannot be asked for again: {}", s.text());
  }
  return {};
}

Status ServerImpl::attachState() {
  if (config_.crashStateFd >= 0) {
    TRY_ASSIGN(state_, CrashState::map(config_.crashStateFd));
  } else {
    state_ = CrashState::inProcess();
  }
  vfs_.setRecorder(state_.get());
  vfs_.setNotifier(&notifier_);
  attachClones();
  return {};
}

void ServerImpl::attachClones() {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  listeners_ = std::make_unique<Listeners>(config_.threads > 0 ? config_.threads : std::clamp(cores, 2, 16), config_.quickNanos, [this] { return spawn(); });
  std::vector<int> candidates = config_.cloneFds;
  if (candidates.empty()) {
    for (int i = 0; i < std::clamp(cores, 2, 8); ++i) {
      auto fd = openDevice();
      if (!fd) break;
      ownClones_.push_back(*fd);
    }
    candidates = ownClones_;
  }
  for (int fd : candidates) {
    if (auto s = cloneDevice(fd, fd_); s)
      clones_.push_back(fd);
    else
      LOG_WARN("{}", s.text());
  }
}

bool ServerImpl::spawn() {
  std::lock_guard lock(mu_);
  if (stopping_ || threads_.size() >= config_.maxThreads) return false;
  const int fd = clones_.empty() ? fd_ : clones_[nextFd_++ % clones_.size()];
  Thread& self = threads_.emplace_back();
  if (freeNotes_.empty()) freeNotes_.push_back(usedNotes_++);
  self.note = freeNotes_.back();
  freeNotes_.pop_back();
  self.base = threads_.size() <= static_cast<size_t>(listeners_->wanted());
  try {
    std::thread t([this, &self, fd] { threadLoop(self, fd); });
    self.handle = t.native_handle();
    t.detach();
  } catch (const std::system_error&) {  // no more threads to be had: the others go on
    freeNotes_.push_back(self.note);
    threads_.pop_back();
    return false;
  }
  return true;
}

void ServerImpl::threadLoop(Thread& self, int fd) {
  setThreadName("fuse");
  {
    PageBuffer buffer(kRequestBytes, self.base ? std::min<size_t>(kRequestBytes, config_.maxWrite + (64 << 10)) : kSurplusPresent);
    Reply reply(kReplyBytes);
    InflightSlot* slot = inflight_.claim();
    for (bool first = true; slot && listeners_->join(first); first = false) {
      size_t n = 0;
      int error = 0;
      auto got = ReadOutcome::again;
      while (got == ReadOutcome::again && !stopping_.load(std::memory_order_relaxed)) {
        self.reading.store(true);
        got = readMessage(fd, buffer.bytes(), &n, &error);
        self.reading.store(false);
      }
      if (stopping_.load() && got == ReadOutcome::again) break;
      if (got != ReadOutcome::message) {
        if (got == ReadOutcome::failed) {
          std::lock_guard lock(mu_);
          failure_ = Status(Code::io, std::string("read from /dev/fuse: ") + std::strerror(error));
        }
        stopping_.store(true);
        break;
      }
      serveOne(fd, std::span<const std::byte>(buffer.bytes()).first(n), reply, slot, state_->note(self.note));
    }
    if (slot) inflight_.release(slot);
  }
  std::lock_guard lock(mu_);
  freeNotes_.push_back(self.note);
  threads_.remove_if([&](const Thread& t) { return &t == &self; });
  changed_.notify_all();
}

void ServerImpl::serveOne(int fd, std::span<const std::byte> message, Reply& reply, InflightSlot* slot, JournalEntry& own) {
  Call call;
  if (!call.in.parse(message)) {
    LOG_WARN("a message of {} bytes from the kernel is no request", message.size());
    return listeners_->leave(0);
  }
  const uint64_t unique = call.in.head().unique;
  const uint32_t opcode = call.in.head().opcode;
  listeners_->leave(opcode);
  JournalEntry* orphan = call.in.resent() ? state_->findOrphan(call.in.identity()) : nullptr;
  JournalEntry& note = orphan ? *orphan : own;
  if (orphan) {
    note.active.store(1);
  } else {
    note.flags.store(0, std::memory_order_relaxed), note.ino.store(0, std::memory_order_relaxed);
    note.fh.store(0, std::memory_order_relaxed), note.op.store(call.in.head().opcode, std::memory_order_relaxed);
    note.identity.store(call.in.identity(), std::memory_order_release);
  }
  call.out = &reply, call.slot = slot, call.note = &note, call.known = orphan != nullptr;
  CrashState::setCurrent(&note);
  const int64_t begun = monotonicNanos();
  inflight_.begin(slot, unique, begun);
  if (orphan && orphan->deaths.load() >= kDeadlyAfter) {
    LOG_ERROR("operation {} on inode {} was being worked on in each of the last {} crashes: refused", call.in.head().opcode,
              call.in.node(), kDeadlyAfter);
    reply.reset(), reply.fail(EIO);
  } else {
    dispatcher_.handle(call);
  }
  if (call.mustWait) {
    if (waiters_.wait(fd, message, slot))
      reply.none();
    else
      reply.reset(), reply.fail(ENOLCK);
  }
  inflight_.end(slot);
  if (reply.wanted()) {
    if (auto s = writeMessage(fd, reply.finish(unique)); !s) {
      LOG_WARN("answer to operation {}: {}", call.in.head().opcode, s.text());
      // Whatever was wrong with the answer, the caller must not hang.
      reply.reset(), reply.fail(EIO);
      (void)writeMessage(fd, reply.finish(unique)).isOk();
    }
  }
  CrashState::setCurrent(nullptr);
  listeners_->served(opcode, monotonicNanos() - begun);
  if (orphan)
    state_->dropOrphan(orphan);
  else
    note.identity.store(0, std::memory_order_release);
}

Status ServerImpl::serve() {
  if (!state_) return Status(Code::invalid, "serve before negotiate or adopt");
  for (int i = 0; i < listeners_->wanted(); ++i) spawn();
  std::unique_lock lock(mu_);
  // Threads that still sleep in read() after another one has seen the end are woken by stop().
  changed_.wait(lock, [&] { return threads_.empty() || stopping_; });
  lock.unlock();
  stop();
  lock.lock();
  return failure_;
}

void ServerImpl::stop() {
  stopping_.store(true);
  if (listeners_) listeners_->stop();
  const int64_t begun = monotonicNanos();
  std::unique_lock lock(mu_);
  while (!threads_.empty()) {
    for (auto& t : threads_)
      if (t.reading.load()) pthread_kill(t.handle, wakeSignal());
    const int64_t waited = monotonicNanos() - begun;
    if (waited > kGiveUpNanos) {
      LOG_WARN("{} requests did not end in time", inflight_.busy());
      break;
    }
    if (waited > kInterruptAfterNanos) {
      lock.unlock();
      inflight_.interruptAll();
      lock.lock();
    }
    changed_.wait_for(lock, std::chrono::milliseconds(5));
  }
  lock.unlock();
  waiters_.stop();
}

}  // namespace

std::unique_ptr<Server> makeServer(int fuseFd, vfs::Vfs& vfs, const ServerConfig& config) {
  return std::make_unique<ServerImpl>(fuseFd, vfs, config);
}

}  // namespace aquifer::fuse
