// Threads with a transaction to commit queue up; the first becomes the leader and runs a batch of them in one durable commit,
// while the next batch gathers behind it. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "meta/store/txn.h"

namespace aquifer::meta::sql {

class CommitQueue {
 public:
  struct Member {
    const TxnBody& body;
    const TxnOptions& options;
    bool callerKnows = false;  // see change_feed.h
    Status status;
    bool done = false;
    std::condition_variable wake;
  };
  // Runs members from the front, sets their status, and says how many are decided (at least one). The others stay in front.
  using Execute = std::function<size_t(std::vector<Member*>& batch)>;

  explicit CommitQueue(Execute execute, size_t maxBatch) : execute_(std::move(execute)), maxBatch_(maxBatch) {}

  Status run(const TxnBody& body, const TxnOptions& options);
  // Runs `work` while no batch runs. false: called from inside a transaction, where it would wait for itself.
  bool alone(const std::function<void()>& work);

 private:
  void lead(std::unique_lock<std::mutex>& lock);
  void pass();  // the lead to whoever waits

  const Execute execute_;
  const size_t maxBatch_;
  std::mutex mu_;
  std::deque<Member*> waiting_;
  bool leading_ = false;
  std::thread::id leader_;
  int aloneWaiting_ = 0;
  std::condition_variable free_;
};

}  // namespace aquifer::meta::sql
