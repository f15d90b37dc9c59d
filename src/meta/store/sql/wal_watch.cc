#include "meta/store/sql/wal_watch.h"

#include <fmt/core.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread_pool.h"

namespace aquifer::meta::sql {

namespace {

constexpr size_t kHeaderBytes = sizeof(WalHeader);
constexpr int kTornTries = 200;
constexpr int64_t kMillis = 1'000'000;
// A commit writes to the -wal before it shows in the index, perhaps with a sync between, so one look is not enough. The first
// ones follow each other closely, without asking whether more was written: a busy writer must not wake us at each commit.
constexpr int64_t kLookFor = 300 * kMillis, kLookClosely = 20 * kMillis;
constexpr int64_t kCloseStep = kMillis / 2, kStep = 2 * kMillis;
// Without news; also how often a lost -wal is looked for.
constexpr int64_t kIdleStep = 1000 * kMillis;

timespec toTimespec(int64_t nanos) { return {nanos / 1'000'000'000, nanos % 1'000'000'000}; }

Status notGiven(std::string_view what) {
  return Status(Code::unavailable, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

std::optional<WalHeader> readWalHeader(const volatile char* index) {
  auto copy = [&](size_t at) {
    WalHeader h;
    for (size_t i = 0; i < h.words.size(); ++i)
      h.words[i] = __atomic_load_n(reinterpret_cast<const volatile uint32_t*>(index + at) + i, __ATOMIC_RELAXED);
    return h;
  };
  // Writers change the second copy first.
  for (int i = 0; i < kTornTries; ++i) {
    auto first = copy(0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (first == copy(kHeaderBytes)) return first;
    std::this_thread::yield();
  }
  return std::nullopt;
}

class WalWatch::Feed : public ChangeFeed {
 public:
  explicit Feed(WalWatch& watch) : watch_(watch) {}
  ~Feed() override { watch_.stop(); }

 private:
  WalWatch& watch_;
};

Status WalWatch::open() {
  SqliteOpen how = how_;
  how.cacheKiB = 64;
  TRY_ASSIGN(db_, SqliteConnection::open(how));
  index_ = db_->walIndex();
  if (!index_) return Status(Code::unsupported, how_.path + " is not in WAL mode");
  const char* file = sqlite3_db_filename(db_->handle(), "main");
  const char* wal = file ? sqlite3_filename_wal(file) : nullptr;
  if (!wal) return Status(Code::unsupported, how_.path + " has no -wal");
  inotify_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (inotify_ < 0) return notGiven("inotify");
  if (inotify_add_watch(inotify_, wal, IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF) < 0) return notGiven("inotify on the -wal");
  known_ = readWalHeader(index_);
  return {};
}

void WalWatch::close() {
  index_ = nullptr;
  db_.reset();
  if (inotify_ >= 0) ::close(inotify_);
  inotify_ = -1;
}

Result<std::unique_ptr<ChangeFeed>> WalWatch::start(ChangeSink& sink) {
  std::lock_guard lock(mu_);
  if (sink_) return Code::busy;
  auto opened = open();
  if (opened && (stopFd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) opened = notGiven("eventfd");
  if (!opened) {
    close();
    return opened;
  }
  gone_ = false;
  sink_ = &sink;
  sink_->live();
  thread_ = std::thread([this] { loop(); });
  return std::unique_ptr<ChangeFeed>(new Feed(*this));
}

void WalWatch::stop() {
  if (!thread_.joinable()) return;
  static_cast<void>(eventfd_write(stopFd_, 1));
  thread_.join();
  std::lock_guard lock(mu_);
  sink_ = nullptr;
  close();
  ::close(stopFd_);
  stopFd_ = -1;
}

void WalWatch::lookLocked() {
  if (!sink_ || !index_) return;
  auto seen = readWalHeader(index_);
  if (seen && seen == known_) return;
  known_ = seen;
  sink_->allChanged();
}

WalWatch::Own::Own(WalWatch& watch) : watch_(watch), lock_(watch.mu_) { watch_.lookLocked(); }

void WalWatch::Own::committed(bool wrote, std::span<const Key> keys) {
  if (watch_.sink_ && watch_.index_) {
    auto seen = readWalHeader(watch_.index_);
    if (wrote && seen && watch_.known_ && seen->changes() == watch_.known_->changes() + 1) {
      watch_.known_ = seen;
      if (!keys.empty()) watch_.sink_->changed(keys);
    } else {
      watch_.lookLocked();   // somebody else came right after
    }
  }
  lock_.unlock();
}

bool WalWatch::drain() {
  alignas(inotify_event) char buffer[4096];
  bool written = false;
  for (;;) {
    auto n = ::read(inotify_, buffer, sizeof buffer);
    if (n <= 0) return written;
    for (char* at = buffer; at < buffer + n;) {
      auto* event = reinterpret_cast<inotify_event*>(at);
      if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) gone_ = true;
      at += sizeof(inotify_event) + event->len;
    }
    written = true;
  }
}

// The -wal was removed or replaced under us.
void WalWatch::reopen() {
  std::lock_guard lock(mu_);
  if (index_) sink_->lost("the -wal of the database was replaced");
  close();
  if (auto opened = open(); !opened) {
    close();
    return;
  }
  gone_ = false;
  sink_->live();
}

void WalWatch::loop() {
  setThreadName("wal-watch");
  int64_t written = 0;
  for (;;) {
    auto since = written == 0 ? kLookFor : monotonicNanos() - written;
    bool closely = since < kLookClosely;
    auto wait = toTimespec(closely ? kCloseStep : since < kLookFor ? kStep : kIdleStep);
    pollfd fds[2] = {{stopFd_, POLLIN, 0}, {inotify_, POLLIN, 0}};
    ppoll(fds, closely || inotify_ < 0 ? 1 : 2, &wait, nullptr);
    if (fds[0].revents != 0) return;
    if (inotify_ >= 0 && drain()) written = monotonicNanos();
    if (gone_) {
      reopen();
      continue;
    }
    std::lock_guard lock(mu_);
    lookLocked();
  }
}

}  // namespace aquifer::meta::sql
