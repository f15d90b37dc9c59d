#include "vfs/notify_queue.h"

#include <algorithm>

#include "base/log.h"
#include "base/thread_pool.h"

namespace aquifer::vfs {

NotifyQueue::~NotifyQueue() {
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
    work_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void NotifyQueue::setNotifier(Notifier* notifier) {
  std::unique_lock lock(mu_);
  // After this returns the old notifier is not called any more.
  idle_.wait(lock, [&] { return !busy_; });
  notifier_ = notifier;
}

void NotifyQueue::startLocked() {
  if (!thread_.joinable() && !stopping_) thread_ = std::thread([this] { loop(); });
  work_.notify_one();
}

void NotifyQueue::inode(Ino ino, int64_t off, int64_t len) {
  std::lock_guard lock(mu_);
  if (!notifier_) return;
  Span span{off, off < 0 ? -1 : len <= 0 ? INT64_MAX : off + len};
  auto it = inodes_.find(ino);
  if (it != inodes_.end()) {
    auto& s = it->second;
    if (s.off < 0) s = span;
    else if (span.off >= 0) s = {std::min(s.off, span.off), std::max(s.end, span.end)};
  } else if (inodes_.size() < kMaxPending) {
    inodes_.emplace(ino, span);
  } else {
    LOG_WARN("too many notifications wait for the kernel, inode {} may look old until its time-out", ino);
    return;
  }
  startLocked();
}

void NotifyQueue::entry(Ino parent, std::string_view name) {
  std::lock_guard lock(mu_);
  if (!notifier_) return;
  if (entries_.size() >= kMaxPending) {
    LOG_WARN("too many notifications wait for the kernel, an entry of {} may look old until its time-out", parent);
    return;
  }
  entries_.emplace_back(parent, std::string(name));
  startLocked();
}

void NotifyQueue::loop() {
  setThreadName("notify");
  std::unique_lock lock(mu_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !inodes_.empty() || !entries_.empty(); });
    if (stopping_) return;
    auto* notifier = notifier_;
    busy_ = true;
    if (!entries_.empty()) {
      auto [parent, name] = std::move(entries_.front());
      entries_.pop_front();
      lock.unlock();
      if (notifier) notifier->invalidateEntry(parent, name);
    } else {
      auto it = inodes_.begin();
      Ino ino = it->first;
      Span s = it->second;
      inodes_.erase(it);
      lock.unlock();
      if (notifier) notifier->invalidateInode(ino, s.off, s.off < 0 || s.end == INT64_MAX ? 0 : s.end - s.off);
    }
    lock.lock();
    busy_ = false;
    idle_.notify_all();
  }
}

}  // namespace aquifer::vfs
