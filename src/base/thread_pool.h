// A fixed set of named threads with a bounded queue. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace aquifer {

class ThreadPool {
 public:
  // Threads start at the first task and are named `name`. queueLimit: tasks waiting, not running.
  ThreadPool(std::string name, int threads, size_t queueLimit);
  ~ThreadPool();                                   // runs what is queued, then joins
  void submit(std::function<void()> task);         // waits while the queue is full; runs it here once stopped
  bool trySubmit(std::function<void()> task);      // false when the queue is full or the pool is stopping
  void drain();                                    // until nothing is queued or running
  void stop();                                     // as the destructor

 private:
  void loop();
  void enqueue(std::unique_lock<std::mutex>& lock, std::function<void()>&& task);
  const std::string name_;
  const int limitThreads_;
  const size_t queueLimit_;
  std::mutex mu_;
  std::condition_variable work_, space_, idle_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  int running_ = 0;
  bool stopping_ = false;
};

void setThreadName(const std::string& name);

}  // namespace aquifer
