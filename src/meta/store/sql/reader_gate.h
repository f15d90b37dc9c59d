// Lets readers pass, and can be shut for a moment: SQLite starts its -wal from the beginning only while nobody reads from it, which
// under steady load never happens by itself. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace aquifer::meta::sql {

class ReaderGate {
 public:
  class Pass {
   public:
    explicit Pass(ReaderGate& gate) : gate_(gate) { gate_.enter(); }
    ~Pass() { gate_.leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    ReaderGate& gate_;
  };

  // True if all readers have left within `patience`. Those that come later wait until open(), which must follow either way.
  bool shut(std::chrono::milliseconds patience) {
    std::unique_lock lock(mu_);
    shut_ = true;
    return empty_.wait_for(lock, patience, [&] { return inside_ == 0; });
  }
  void open() {
    {
      std::lock_guard lock(mu_);
      shut_ = false;
    }
    opened_.notify_all();
  }

 private:
  void enter() {
    std::unique_lock lock(mu_);
    opened_.wait(lock, [&] { return !shut_; });
    ++inside_;
  }
  void leave() {
    std::lock_guard lock(mu_);
    if (--inside_ == 0 && shut_) empty_.notify_all();
  }

  std::mutex mu_;
  std::condition_variable opened_, empty_;
  int inside_ = 0;
  bool shut_ = false;
};

}  // namespace aquifer::meta::sql
