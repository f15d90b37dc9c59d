#include "base/thread_pool.h"

#include <pthread.h>

#include <system_error>

namespace aquifer {

ThreadPool::ThreadPool(std::string name, int threads, size_t queueLimit)
    : name_(std::move(name)), limitThreads_(threads < 1 ? 1 : threads), queueLimit_(queueLimit < 1 ? 1 : queueLimit) {}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::enqueue(std::unique_lock<std::mutex>& lock, std::function<void()>&& task) {
  queue_.push_back(std::move(task));
  // A thread more only when those that exist cannot take everything that waits.
  if (queue_.size() + static_cast<size_t>(running_) > threads_.size() && threads_.size() < static_cast<size_t>(limitThreads_)) {
    try {
      threads_.emplace_back([this] { loop(); });
    } catch (const std::system_error&) {
      // The system has no more threads. Those of the pool will come to it; without any, it runs here.
      if (threads_.empty()) {
        auto mine = std::move(queue_.back());
        queue_.pop_back();
        lock.unlock();
        mine();
        return;
      }
    }
  }
  lock.unlock();
  work_.notify_one();
}

void ThreadPool::submit(std::function<void()> task) {
  std::unique_lock lock(mu_);
  space_.wait(lock, [&] { return stopping_ || queue_.size() < queueLimit_; });
  if (stopping_) {
    // Nobody would pick it up; the caller's thread does, so that no task is lost.
    lock.unlock();
    task();
    return;
  }
  enqueue(lock, std::move(task));
}

bool ThreadPool::trySubmit(std::function<void()> task) {
  std::unique_lock lock(mu_);
  if (stopping_ || queue_.size() >= queueLimit_) return false;
  enqueue(lock, std::move(task));
  return true;
}

void ThreadPool::drain() {
  std::unique_lock lock(mu_);
  idle_.wait(lock, [&] { return queue_.empty() && running_ == 0; });
}

void ThreadPool::stop() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
    threads.swap(threads_);
  }
  work_.notify_all();
  space_.notify_all();
  for (auto& t : threads) t.join();
}

void ThreadPool::loop() {
  setThreadName(name_);
  std::unique_lock lock(mu_);
  for (;;) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto task = std::move(queue_.front());
    queue_.pop_front();
    running_++;
    lock.unlock();
    space_.notify_one();
    task();
    task = nullptr;  // what it captured goes before drain() returns
    lock.lock();
    running_--;
    if (queue_.empty() && running_ == 0) idle_.notify_all();
  }
}

void setThreadName(const std::string& name) {
  // The kernel keeps 15 bytes and refuses longer names.
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace aquifer
