#include "access/fuse/listeners.h"

#include <algorithm>
#include <chrono>

#include "base/thread_pool.h"

namespace aquifer::fuse {

using std::chrono::milliseconds;

Listeners::Listeners(int wanted, int64_t quickNanos, std::function<bool()> spawn)
    : wanted_(std::max(wanted, 1)), quickNanos_(quickNanos), spawn_(std::move(spawn)) {
  for (auto& s : slow_) s.store(kSlowCalls / 4, std::memory_order_relaxed);   // until something is known of the kind
  watcher_ = std::thread([this] { watch(); });
}

Listeners::~Listeners() {
  stop();
  watcher_.join();
}

bool Listeners::join(bool first) {
  for (bool called = first;;) {
    const bool place = listening_.fetch_add(1) < wanted_;
    if (!place) listening_.fetch_sub(1);
    if (called) coming_.store(false);   // after that, so that whoever leaves in between sees one of both
    if (place) return true;
    std::unique_lock lock(mu_);
    if (stopping_) return false;
    called = false;
    if (listening_.load() < wanted_) continue;   // somebody left meanwhile, and may have seen nobody to call
    Parked me;
    parked_.push_back(&me);
    called = me.changed.wait_for(lock, milliseconds(kKeepParkedMs), [&] { return me.called; });
    if (stopping_) return false;
    if (called) continue;
    std::erase(parked_, &me);
    if (parked_.size() >= static_cast<size_t>(wanted_)) return false;
  }
}

void Listeners::leave(uint32_t opcode) {
  if (listening_.fetch_sub(1) > 1) return;
  if (slow_[kindOf(opcode)].load(std::memory_order_relaxed) > 0) return bringOne();
  if (!dozing_.load()) return;
  std::lock_guard lock(mu_);
  needed_ = true;
  watched_.notify_all();
}

void Listeners::bringOne() {
  if (coming_.exchange(true)) return;
  {
    std::lock_guard lock(mu_);
    if (stopping_) return coming_.store(false);
    if (!parked_.empty()) {
      parked_.back()->called = true;   // the last one that came: its caches are the warmest
      parked_.back()->changed.notify_one();
      parked_.pop_back();
      return;
    }
  }
  if (!spawn_()) coming_.store(false);
}

void Listeners::watch() {
  setThreadName("fuse-watch");
  constexpr int kCalmTicks = 250;
  int calm = 0;
  bool empty = false;
  std::unique_lock lock(mu_);
  while (!stopping_) {
    watched_.wait_for(lock, milliseconds(kWatchMs), [&] { return stopping_; });
    const bool was = empty;
    empty = listening_.load() == 0;
    calm = empty ? 0 : calm + 1;
    if (empty && was) {
      lock.unlock();
      bringOne();
      lock.lock();
      empty = false;   // it gets its time to come
    }
    if (calm < kCalmTicks) continue;
    dozing_.store(true);
    if (listening_.load() > 0) watched_.wait(lock, [&] { return stopping_ || needed_; });   // who leaves from now on sees that it dozes
    dozing_.store(false);
    needed_ = false, calm = 0;
  }
}

void Listeners::stop() {
  std::lock_guard lock(mu_);
  stopping_ = true;
  for (auto* p : parked_) p->called = true, p->changed.notify_one();
  parked_.clear();
  watched_.notify_all();
}

}  // namespace aquifer::fuse
