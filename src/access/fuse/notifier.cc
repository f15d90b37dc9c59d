#include "access/fuse/notifier.h"

#include "access/fuse/device.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread_pool.h"

namespace aquifer::fuse {

KernelNotifier::KernelNotifier(int fd) : fd_(fd), thread_([this] { loop(); }) {}

KernelNotifier::~KernelNotifier() { stop(); }

void KernelNotifier::stop() {
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
    queue_.clear();
  }
  ready_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void KernelNotifier::drain() {
  std::unique_lock lock(mu_);
  idle_.wait_for(lock, std::chrono::seconds(5), [&] { return queue_.empty() && !sending_; });
}

void KernelNotifier::push(Message m) {
  static auto& dropped = metrics::counter("fuse_notify_dropped", "invalidations that did not fit the queue");
  {
    std::lock_guard lock(mu_);
    if (stopping_) return;
    if (!queue_.empty() && queue_.back() == m) return;  // bursts repeat themselves
    if (queue_.size() >= kLimit) {
      queue_.pop_front();
      dropped.add();
    }
    queue_.push_back(std::move(m));
  }
  ready_.notify_one();
}

void KernelNotifier::invalidateInode(vfs::Ino ino, int64_t off, int64_t len) { push({ino, false, false, off, len, {}}); }

void KernelNotifier::invalidateEntry(vfs::Ino parent, std::string_view name) { push({parent, true, false, 0, 0, std::string(name)}); }

void KernelNotifier::expireAttributes(vfs::Ino ino) { send({ino, false, true, -1, 0, {}}); }

void KernelNotifier::expireEntry(vfs::Ino parent, std::string_view name) { send({parent, true, true, 0, 0, std::string(name)}); }

void KernelNotifier::send(const Message& m) {
  Status sent;
  if (m.entry) {
    NotifyInvalEntry body{m.ino, static_cast<uint32_t>(m.name.size()), m.expire ? kExpireOnly : 0};
    sent = notifyKernel(fd_, Notify::invalEntry, std::as_bytes(std::span(&body, 1)),
                        std::as_bytes(std::span(m.name.c_str(), m.name.size() + 1)));
  } else {
    NotifyInvalInode body{m.ino, m.off, m.len};
    sent = notifyKernel(fd_, Notify::invalInode, std::as_bytes(std::span(&body, 1)));
  }
  // ENOTEMPTY, EBUSY and their like: the name is in use as a mount point or a directory with known children; time-outs apply.
  if (!sent) LOG_DEBUG("invalidate {}: {}", m.ino, sent.text());
}

void KernelNotifier::loop() {
  setThreadName("fuse-notify");
  std::unique_lock lock(mu_);
  while (true) {
    ready_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) break;
    Message m = std::move(queue_.front());
    queue_.pop_front();
    sending_ = true;
    lock.unlock();
    send(m);
    lock.lock();
    sending_ = false;
    if (queue_.empty()) idle_.notify_all();
  }
  idle_.notify_all();
}

}  // namespace aquifer::fuse
