// Tells the kernel about changes from a thread of its own: a notification may have to wait for a page that a request of ours holds,
// so nobody who serves requests may call it. Bounded: notifications for one inode are merged. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "vfs/vfs.h"

namespace aquifer::vfs {

class NotifyQueue {
 public:
  NotifyQueue() = default;
  ~NotifyQueue();
  void setNotifier(Notifier* notifier);                       // nullptr: notifications are dropped
  void inode(Ino ino, int64_t off, int64_t len);              // as Notifier::invalidateInode
  void entry(Ino parent, std::string_view name);

 private:
  void loop();
  void startLocked();
  static constexpr size_t kMaxPending = 65536;
  struct Span {
    int64_t off, end;   // off < 0: attributes only; end INT64_MAX: to the end of the file
  };
  std::mutex mu_;
  std::condition_variable work_, idle_;
  std::unordered_map<Ino, Span> inodes_;
  std::deque<std::pair<Ino, std::string>> entries_;
  Notifier* notifier_ = nullptr;
  std::thread thread_;
  bool stopping_ = false, busy_ = false;
};

}  // namespace aquifer::vfs
