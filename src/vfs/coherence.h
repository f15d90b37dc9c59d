// Long-lived names and attributes in the kernel. While the metadata engine tells of changes, replies may carry long time-outs: each
// such promise is a grant in a table, and a change takes it back, from threads of their own. When the engine stops telling,
// everything is taken back at once and the ordinary time-outs apply. See docs/decisions/0008-coherent-caches.md. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "meta/store/txn.h"
#include "vfs/change_clock.h"
#include "vfs/grants.h"
#include "vfs/vfs.h"

namespace aquifer::vfs {

class Coherence : public meta::ChangeSink {
 public:
  static constexpr size_t kMaxGrants = 1 << 17;   // with what is being taken back

  Coherence() = default;
  ~Coherence() override;
  // Begins to listen; `root`: the inode that the kernel knows as 1. Where the store cannot tell, nothing is ever granted.
  void watch(meta::MetaStore& store, Ino root);
  void setNotifier(Notifier* notifier);   // nullptr: returns when the old one is not called any more
  // Before somebody else serves the kernel: takes everything back and waits for that, at most a second; grants no more.
  void end();

  // For how long the kernel may trust what was read from the engine at `askedAt` (monotonic ns, before it was asked): `coherent`
  // if it is granted, `ordinary` if it is not, and not at all if it may have changed meanwhile. coherent 0: never granted.
  Seconds keepName(Ino parent, std::string_view name, int64_t askedAt, Seconds ordinary, Seconds coherent);
  Seconds keepAttr(Ino ino, int64_t askedAt, Seconds ordinary, Seconds coherent);
  // May names of `parent` or attributes of `ino` have changed since? Always false while the engine does not tell.
  bool changedSince(Ino parent, Ino ino, int64_t askedAt);

  // Done by this client on behalf of the kernel, before the kernel hears that it is done.
  void renamed(Ino parent, std::string_view name, Ino newParent, std::string_view newName, bool exchange);
  void removed(Ino parent, std::string_view name);
  // Changed by this client without the kernel's knowledge.
  void changedHere(Ino ino);

  void changed(std::span<const meta::Key> keys) override;
  void allChanged() override;
  void live() override;
  void lost(std::string_view why) override;

 private:
  struct Again {
    int64_t due;
    Revoked what;
  };
  bool grantingLocked(int64_t now) const { return live_ && !ended_ && notifier_ && now >= restUntil_; }
  size_t pendingLocked() const { return queue_.size() + soon_.size() + late_.size(); }
  void takeBackLocked(std::vector<Revoked>&& what);
  void takeAllLocked();
  void payLocked(int64_t now, size_t notifications);
  Ino shown(Ino ino) const { return ino == root_ ? meta::kRootIno : ino; }
  void loop();
  void sendSome(std::unique_lock<std::mutex>& lock);

  static constexpr int kThreads = 2;
  std::atomic<Ino> root_{meta::kRootIno};
  std::atomic<bool> watching_{false};
  std::mutex mu_;
  std::condition_variable work_, idle_;
  Grants grants_{kMaxGrants};
  // When something was last taken back: by the directory of a name, by inode, and everything.
  ChangeClock names_, nodes_;
  int64_t allAt_ = 0;
  bool live_ = false, ended_ = false, stopping_ = false;
  int64_t restUntil_ = 0, paidAt_ = 0;
  double budget_ = 0;
  Notifier* notifier_ = nullptr;
  std::deque<Revoked> queue_;
  std::deque<Again> soon_, late_;   // what was just sent and is sent again, each in order of time
  int busy_ = 0;
  std::vector<std::thread> threads_;
  std::unique_ptr<meta::ChangeFeed> feed_;
};

}  // namespace aquifer::vfs
