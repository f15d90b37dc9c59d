#include "meta/store/sql/checkpointer.h"

#include <sqlite3.h>

#include "base/log.h"
#include "base/thread_pool.h"

namespace aquifer::meta::sql {

namespace {

// Pages of 4 KiB. The work begins here …
constexpr int kStartFrames = 2000;
// … and from here on it is brought to an end while commits and readers wait, so that the next commit starts the -wal from its
// beginning: under steady load a checkpoint beside them never catches up. A long reader (a dump) is not waited for.
constexpr int kFinishFrames = 8000;
constexpr std::chrono::milliseconds kPatience{20};

}  // namespace

Checkpointer::Checkpointer(SqliteOpen how, std::function<void(const std::function<void()>&)> alone, ReaderGate& readers)
    : how_(std::move(how)), alone_(std::move(alone)), readers_(readers), wanted_(kStartFrames) {}

Checkpointer::~Checkpointer() {
  {
    std::lock_guard lock(mu_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::watch(SqliteConnection& writer) {
  auto onCommit = [](void* self, sqlite3*, const char*, int frames) {
    auto* it = static_cast<Checkpointer*>(self);
    it->commits_.fetch_add(1, std::memory_order_relaxed);
    it->grownTo(frames);
    return SQLITE_OK;
  };
  sqlite3_wal_hook(writer.handle(), onCommit, this);
}

void Checkpointer::grownTo(int frames) {
  auto wanted = wanted_.load(std::memory_order_relaxed);
  if (frames < kStartFrames) {
    // The -wal has begun anew.
    if (wanted != kStartFrames) wanted_.store(kStartFrames, std::memory_order_relaxed);
    return;
  }
  if (frames < wanted) return;
  // Where a reader of an old state keeps the -wal from being emptied, do not try again for each commit.
  wanted_.store(frames + kStartFrames, std::memory_order_relaxed);
  std::lock_guard lock(mu_);
  frames_ = frames;
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  wake_.notify_one();
}

void Checkpointer::loop() {
  setThreadName("checkpoint");
  std::unique_lock lock(mu_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || frames_ > 0; });
    if (stop_) return;
    frames_ = 0;
    lock.unlock();
    checkpoint();
    lock.lock();
  }
}

void Checkpointer::checkpoint() {
  if (!db_) {
    auto opened = SqliteConnection::open(how_);
    if (!opened) {
      LOG_WARN("checkpoint: {}", opened.status().text());
      return;
    }
    db_ = std::move(*opened);
    sqlite3_busy_timeout(db_->handle(), 0);   // whoever is in the way, in this process or another, is not waited for here
  }
  int inLog = 0, moved = 0;
  pass(SQLITE_CHECKPOINT_PASSIVE, &inLog, &moved);
  if (inLog < kFinishFrames) return;
  alone_([&] {
    const bool quiet = readers_.shut(kPatience);
    pass(quiet ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, &inLog, &moved);
    readers_.open();
  });
}

void Checkpointer::pass(int mode, int* inLog, int* moved) {
  const int rc = sqlite3_wal_checkpoint_v2(db_->handle(), nullptr, mode, inLog, moved);
  // Busy: somebody else, perhaps another process, is at it.
  if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY) LOG_WARN("checkpoint: {}", db_->error(rc).text());
}

}  // namespace aquifer::meta::sql
