// Requests that are being worked on, so that an INTERRUPT finds its request. Thread-safe; lock-free on the way of a request.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace aquifer::fuse {

// A place for one request; a thread keeps one for itself.
struct InflightSlot {
  std::atomic<uint64_t> unique{0};        // 0: free
  std::atomic<int64_t> interruptedAt{0};  // monotonic ns, 0: not
  std::atomic<int64_t> startedAt{0};
  std::atomic<bool> patient{false};  // waits for a lock: however long it takes

  // Waits that were asked to stop do so at once; data and metadata only after a second, since languages that signal their own
  // threads all the time would otherwise see EINTR from calls that are about to succeed.
  bool interruptedNow() const { return interruptedAt.load(std::memory_order_relaxed) != 0; }
  bool interruptedLate() const;
};

class Inflight {
 public:
  explicit Inflight(size_t slots) : slots_(slots) {}
  InflightSlot* claim();  // nullptr when all are taken
  void release(InflightSlot* slot);
  void begin(InflightSlot* slot, uint64_t unique, int64_t now);
  void end(InflightSlot* slot) { slot->unique.store(0, std::memory_order_release); }
  void interrupt(uint64_t unique);
  size_t interruptAll();                    // for quiescing
  size_t interruptOlder(int64_t ageNanos);  // but for those that wait for a lock
  size_t busy() const;                      // how many are being worked on

 private:
  bool mark(uint64_t unique, int64_t now);
  size_t interruptWhere(int64_t ageNanos, bool patientToo);
  std::vector<InflightSlot> slots_;
  std::mutex mu_;  // of what is below
  std::vector<InflightSlot*> free_;
  size_t claimed_ = 0;
  // INTERRUPTs that came before their request had a slot: another thread has read it and is just about to begin.
  struct Early {
    uint64_t unique = 0;
    int64_t at = 0;
  };
  std::array<Early, 64> early_{};
  size_t nextEarly_ = 0;
  std::atomic<uint32_t> earlyCount_{0};
};

}  // namespace aquifer::fuse
