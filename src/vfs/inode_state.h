// What this client knows about an inode while somebody has it open (or works on it): its I/O lock, the length that reads are cut
// at, and what has been written but not yet committed. The table holds states weakly: they vanish with their last user.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/clock.h"
#include "meta/model/types.h"
#include "vfs/rw_lock.h"

namespace aquifer::vfs {

using meta::Ino;
class InodeTable;

class InodeState {
 public:
  InodeState(InodeTable* table, Ino ino) : ino(ino), table_(table) {}
  ~InodeState();
  InodeState(const InodeState&) = delete;
  InodeState& operator=(const InodeState&) = delete;

  const Ino ino;
  RwLock io;   // reads and writes share it; truncate, fallocate and copy exclude

  // The file length as far as known. Attributes that were read before a change here must not take it back: `askedAt` is the
  // monotonic time before the metadata was asked.
  uint64_t length() const { return length_.load(std::memory_order_acquire); }
  // Takes over what the metadata said. `changed` runs, under this state's lock, if it is not what was learnt last: somebody
  // (perhaps this client) has changed the file.
  template <class Changed>
  void learn(const meta::Attr& attr, int64_t askedAt, Changed&& changed) {
    std::lock_guard lock(mu_);
    if (changedAt_ >= askedAt) return;
    length_.store(attr.length, std::memory_order_release);
    if (seenLength_ == attr.length && seenMtime_ == attr.mtime && seenCtime_ == attr.ctime) return;
    seenLength_ = attr.length;
    seenMtime_ = attr.mtime;
    seenCtime_ = attr.ctime;
    changed();
  }
  void setLength(uint64_t length) {  // this client changed it
    std::lock_guard lock(mu_);
    changedAt_ = monotonicNanos();
    length_.store(length, std::memory_order_release);
  }
  void growLength(uint64_t atLeast) {
    std::lock_guard lock(mu_);
    changedAt_ = monotonicNanos();
    if (length_.load(std::memory_order_relaxed) < atLeast) length_.store(atLeast, std::memory_order_release);
  }

  std::atomic<int64_t> lastWrite{0};       // unix ns of the newest write; mtime of what is committed from now on
  std::atomic<uint64_t> uncommitted{0};    // bytes written since the last flush, for block counts
  std::atomic<bool> plocks{false};         // a record lock was taken here: close has to drop it
  std::mutex dirtyMu;                      // guards changes of the two below
  int writing = 0;                         // write calls under way
  std::atomic<bool> dirty{false};          // there may be bytes that metadata does not know

 private:
  InodeTable* const table_;
  std::mutex mu_;
  int64_t changedAt_ = 0;
  uint64_t seenLength_ = 0;
  meta::Time seenMtime_, seenCtime_;
  std::atomic<uint64_t> length_{0};
};
using InodeRef = std::shared_ptr<InodeState>;

// Thread-safe.
class InodeTable {
 public:
  InodeRef get(Ino ino);    // the state, made if missing
  InodeRef find(Ino ino);   // or nullptr
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  friend class InodeState;
  void dropped(Ino ino);
  struct Shard {
    std::mutex mu;
    std::unordered_map<Ino, std::weak_ptr<InodeState>> states;
  };
  Shard& shard(Ino ino) { return shards_[ino % shards_.size()]; }
  std::array<Shard, 32> shards_;
  std::atomic<size_t> size_{0};
};

}  // namespace aquifer::vfs
