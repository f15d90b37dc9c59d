#include "meta/store/sql/commit_queue.h"

#include <algorithm>

namespace aquifer::meta::sql {

Status CommitQueue::run(const TxnBody& body, const TxnOptions& options) {
  Member me{body, options, CallerKnows::now(), {}, false, {}};
  std::unique_lock lock(mu_);
  // A body that starts another write transaction would wait for itself.
  if (leading_ && leader_ == std::this_thread::get_id()) return Status(Code::deadlock, "a transaction inside a transaction");
  waiting_.push_back(&me);
  me.wake.wait(lock, [&] { return me.done || (!leading_ && aloneWaiting_ == 0 && waiting_.front() == &me); });
  if (!me.done) lead(lock);
  return std::move(me.status);
}

void CommitQueue::lead(std::unique_lock<std::mutex>& lock) {
  leading_ = true;
  leader_ = std::this_thread::get_id();
  std::vector<Member*> batch(waiting_.begin(), waiting_.begin() + static_cast<long>(std::min(maxBatch_, waiting_.size())));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<long>(batch.size()));
  lock.unlock();
  size_t decided = execute_(batch);
  lock.lock();
  waiting_.insert(waiting_.begin(), batch.begin() + static_cast<long>(decided), batch.end());
  for (size_t i = 0; i < decided; ++i) {
    batch[i]->done = true;
    batch[i]->wake.notify_one();
  }
  pass();
}

void CommitQueue::pass() {
  leading_ = false;
  leader_ = {};
  if (aloneWaiting_ > 0)
    free_.notify_one();
  else if (!waiting_.empty())
    waiting_.front()->wake.notify_one();
}

bool CommitQueue::alone(const std::function<void()>& work) {
  std::unique_lock lock(mu_);
  if (leading_ && leader_ == std::this_thread::get_id()) return false;
  ++aloneWaiting_;
  free_.wait(lock, [&] { return !leading_; });
  --aloneWaiting_;
  leading_ = true;
  leader_ = std::this_thread::get_id();
  lock.unlock();
  work();
  lock.lock();
  pass();
  return true;
}

}  // namespace aquifer::meta::sql
