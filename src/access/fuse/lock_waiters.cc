#include "access/fuse/lock_waiters.h"

#include "access/fuse/device.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread_pool.h"

namespace aquifer::fuse {

namespace {
constexpr size_t kReplyBytes = 4096;
constexpr auto kPollEvery = std::chrono::milliseconds(20);
}  // namespace

LockWaiters::LockWaiters(Dispatcher& dispatcher, Inflight& inflight) : dispatcher_(dispatcher), inflight_(inflight) {}
LockWaiters::~LockWaiters() { stop(); }

bool LockWaiters::wait(int fd, std::span<const std::byte> message, InflightSlot* from) {
  auto w = std::make_unique<Waiter>();
  w->fd = fd;
  w->message.assign(reinterpret_cast<const char*>(message.data()), message.size());
  InflightSlot* slot = inflight_.claim();
  if (!slot) return false;
  w->slot = slot;
  InHeader head;
  std::memcpy(&head, message.data(), sizeof head);
  std::lock_guard lock(mu_);
  if (stopping_ || waiting_ >= kWaiting) {
    inflight_.release(slot);
    return false;
  }
  ++waiting_;
  slot->patient.store(true);
  // From here on an INTERRUPT finds the new slot; one that had found the old one is carried over.
  inflight_.begin(slot, head.unique, monotonicNanos());
  if (from && from->interruptedNow()) slot->interruptedAt.store(monotonicNanos());
  if (threads_ < kThreads) {
    ++threads_;
    std::thread([this, p = w.release()] { threadLoop(std::unique_ptr<Waiter>(p)); }).detach();
  } else {
    polled_.push_back(std::move(w));
    if (!pollRunning_) {
      pollRunning_ = true;
      std::thread([this] { pollLoop(); }).detach();
    }
  }
  return true;
}

bool LockWaiters::attempt(Waiter& w, bool mayWait, Reply& reply) {
  Call call;
  JournalEntry note;
  if (!call.in.parse(std::as_bytes(std::span(w.message)))) return true;
  call.out = &reply, call.slot = w.slot, call.note = &note, call.mayWait = mayWait;
  if (!mayWait && w.slot->interruptedNow()) {
    reply.reset();
    reply.fail(EINTR);
  } else {
    dispatcher_.handle(call);
    if (call.mustWait) return false;
  }
  if (auto s = writeMessage(w.fd, reply.finish(call.in.head().unique)); !s) LOG_WARN("{}", s.text());
  return true;
}

void LockWaiters::finish(Waiter& w) {
  inflight_.end(w.slot);
  w.slot->patient.store(false);
  inflight_.release(w.slot);
  std::lock_guard lock(mu_);
  --waiting_;
  changed_.notify_all();
}

void LockWaiters::threadLoop(std::unique_ptr<Waiter> w) {
  setThreadName("fuse-lock");
  Reply reply(kReplyBytes);
  while (w) {
    attempt(*w, true, reply);
    finish(*w);
    w.reset();
    std::lock_guard lock(mu_);
    if (!polled_.empty()) {
      w = std::move(polled_.front());
      polled_.pop_front();
    } else {
      --threads_;
      changed_.notify_all();
    }
  }
}

void LockWaiters::pollLoop() {
  setThreadName("fuse-lock-poll");
  Reply reply(kReplyBytes);
  std::unique_lock lock(mu_);
  while (!polled_.empty()) {
    for (size_t n = polled_.size(); n > 0 && !polled_.empty(); --n) {
      auto w = std::move(polled_.front());
      polled_.pop_front();
      lock.unlock();
      const bool done = attempt(*w, false, reply);
      if (done) finish(*w);
      lock.lock();
      if (!done) polled_.push_back(std::move(w));
    }
    changed_.wait_for(lock, kPollEvery);
  }
  pollRunning_ = false;
  changed_.notify_all();
}

void LockWaiters::stop() {
  std::unique_lock lock(mu_);
  stopping_ = true;
  while (threads_ > 0 || pollRunning_) {
    lock.unlock();
    inflight_.interruptAll();
    lock.lock();
    changed_.wait_for(lock, kPollEvery);
  }
}

size_t LockWaiters::waiting() {
  std::lock_guard lock(mu_);
  return waiting_;
}

}  // namespace aquifer::fuse
