// Locks that have to be waited for, off the threads that serve requests. Up to kThreads of them wait in the file system, in its
// fair order; the rest are tried again every 20 ms until one of those is free. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "access/fuse/dispatcher.h"

namespace aquifer::fuse {

class LockWaiters {
 public:
  static constexpr size_t kThreads = 128, kWaiting = 4096;

  LockWaiters(Dispatcher& dispatcher, Inflight& inflight);
  ~LockWaiters();  // stop()
  // `message`: the whole request; the answer goes out over `fd`. False when too many wait: the caller answers ENOLCK.
  bool wait(int fd, std::span<const std::byte> message, InflightSlot* from);
  void stop();  // interrupts and answers all that wait
  size_t waiting();

 private:
  struct Waiter {
    int fd = -1;
    std::string message;
    InflightSlot* slot = nullptr;
  };
  void threadLoop(std::unique_ptr<Waiter> first);
  void pollLoop();
  // Answers unless it still has to wait (only when !mayWait).
  bool attempt(Waiter& w, bool mayWait, Reply& reply);
  void finish(Waiter& w);

  Dispatcher& dispatcher_;
  Inflight& inflight_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Waiter>> polled_;
  size_t threads_ = 0, waiting_ = 0;
  bool stopping_ = false, pollRunning_ = false;
};

}  // namespace aquifer::fuse
