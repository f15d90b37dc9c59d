// A bound on how many may do something at once. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/metrics.h"
#include "base/stages.h"

namespace aquifer::chunk {

class Tokens {
 public:
  // gauge: shows how many are out; may be null.
  explicit Tokens(int limit, metrics::Counter* gauge = nullptr) : left_(limit < 1 ? 1 : limit), gauge_(gauge) {}
  void acquire() {
    std::unique_lock lock(mu_);
    if (left_ <= 0) {
      ScopedStage stage(Stage::queue);
      free_.wait(lock, [&] { return left_ > 0; });
    }
    take();
  }
  bool tryAcquire() {
    std::lock_guard lock(mu_);
    if (left_ <= 0) return false;
    take();
    return true;
  }
  void release() {
    std::lock_guard lock(mu_);
    ++left_;
    if (gauge_) gauge_->add(-1);
    free_.notify_one();
  }

 private:
  void take() {
    --left_;
    if (gauge_) gauge_->add(1);
  }
  std::mutex mu_;
  std::condition_variable free_;
  int left_;
  metrics::Counter* const gauge_;
};

// Gives the token back at the end of the scope.
class TokenHold {
 public:
  explicit TokenHold(Tokens& tokens) : tokens_(tokens) { tokens_.acquire(); }
  ~TokenHold() { tokens_.release(); }
  TokenHold(const TokenHold&) = delete;
  TokenHold& operator=(const TokenHold&) = delete;

 private:
  Tokens& tokens_;
};

}  // namespace aquifer::chunk
