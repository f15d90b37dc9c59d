#include "meta/ops/lock_waits.h"

#include <chrono>

namespace aquifer::meta {

uint64_t LockWaits::arrive(Ino ino, uint64_t owner, const LockRange& want) {
  std::lock_guard lock(mu_);
  const uint64_t number = next_++;
  waiters_[number] = {number, ino, owner, want};
  return number;
}

void LockWaits::leave(uint64_t number) {
  std::lock_guard lock(mu_);
  waiters_.erase(number);
}

std::vector<LockWaits::Waiter> LockWaits::candidates() const {
  std::lock_guard lock(mu_);
  std::vector<Waiter> out;
  if (waiters_.size() < 2 || waiters_.size() > kMost) return out;
  for (const auto& [number, w] : waiters_) out.push_back(w);
  return out;
}

void LockWaits::released() {
  {
    std::lock_guard lock(mu_);
    if (waiters_.empty()) return;
    ++releases_;
  }
  changed_.notify_all();
}

void LockWaits::sleep(int64_t ms) {
  std::unique_lock lock(mu_);
  const uint64_t seen = releases_;
  changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return releases_ != seen; });
}

Result<bool> closesCycle(const std::vector<LockWaits::Waiter>& waiters,
                         const std::function<Result<std::vector<size_t>>(size_t)>& edges, uint64_t me) {
  size_t start = waiters.size();
  for (size_t i = 0; i < waiters.size(); ++i)
    if (waiters[i].number == me) start = i;
  if (start == waiters.size()) return false;
  // A way from me back to me over older waiters only: then I am the newest of that cycle.
  std::vector<bool> seen(waiters.size());
  std::vector<size_t> todo{start};
  while (!todo.empty()) {
    TRY_ASSIGN(const auto following, edges(todo.back()));
    todo.pop_back();
    for (const size_t next : following) {
      if (next == start) return true;
      if (seen[next] || waiters[next].number > me) continue;
      seen[next] = true;
      todo.push_back(next);
    }
  }
  return false;
}

}  // namespace aquifer::meta
