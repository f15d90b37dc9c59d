// Tells the kernel to forget cached data, attributes and names, on a thread of its own: the kernel may make such a message wait
// for a page that is just being read, so no thread that serves requests may send it. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "vfs/vfs.h"

namespace aquifer::fuse {

class KernelNotifier : public vfs::Notifier {
 public:
  explicit KernelNotifier(int fd);
  ~KernelNotifier() override;
  // At most kLimit messages wait; equal ones are merged. Beyond that the oldest is dropped and counted: time-outs then apply.
  void invalidateInode(vfs::Ino ino, int64_t off, int64_t len) override;
  void invalidateEntry(vfs::Ino parent, std::string_view name) override;
  // Names can be expired without more from Linux 6.2 on; said once, after INIT.
  void setCanExpire(bool can) { canExpire_ = can; }
  bool canExpire() const override { return canExpire_; }
  void expireAttributes(vfs::Ino ino) override;
  void expireEntry(vfs::Ino parent, std::string_view name) override;
  void stop();   // drops what waits
  void drain();  // until everything queued so far is sent, at most 5 s

 private:
  struct Message {
    vfs::Ino ino = 0;
    bool entry = false, expire = false;
    int64_t off = 0, len = 0;
    std::string name;
    bool operator==(const Message&) const = default;
  };
  void push(Message m);
  void loop();
  void send(const Message& m);

  static constexpr size_t kLimit = 65'536;
  const int fd_;
  std::atomic<bool> canExpire_{false};
  std::mutex mu_;
  std::condition_variable ready_, idle_;
  std::deque<Message> queue_;
  bool stopping_ = false, sending_ = false;
  std::thread thread_;
};

}  // namespace aquifer::fuse
