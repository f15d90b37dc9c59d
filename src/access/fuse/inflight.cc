#include "access/fuse/inflight.h"

#include "base/clock.h"

namespace aquifer::fuse {

namespace {
constexpr int64_t kPatienceNanos = 1'000'000'000, kEarlyNanos = 1'000'000'000;
}

bool InflightSlot::interruptedLate() const {
  return interruptedNow() && monotonicNanos() - startedAt.load(std::memory_order_relaxed) >= kPatienceNanos;
}

InflightSlot* Inflight::claim() {
  std::lock_guard lock(mu_);
  if (!free_.empty()) {
    auto* slot = free_.back();
    free_.pop_back();
    return slot;
  }
  return claimed_ < slots_.size() ? &slots_[claimed_++] : nullptr;
}

void Inflight::release(InflightSlot* slot) {
  std::lock_guard lock(mu_);
  free_.push_back(slot);
}

void Inflight::begin(InflightSlot* slot, uint64_t unique, int64_t now) {
  slot->startedAt.store(now, std::memory_order_relaxed);
  slot->interruptedAt.store(0, std::memory_order_relaxed);
  slot->unique.store(unique, std::memory_order_seq_cst);
  if (earlyCount_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard lock(mu_);
  for (auto& e : early_) {
    if (e.unique == 0) continue;
    const bool mine = e.unique == unique;
    if (!mine && now - e.at < kEarlyNanos) continue;  // older ones are of requests that had ended already
    e.unique = 0;
    earlyCount_.fetch_sub(1);
    if (mine) slot->interruptedAt.store(now, std::memory_order_relaxed);
  }
}

bool Inflight::mark(uint64_t unique, int64_t now) {
  for (auto& slot : slots_) {
    if (slot.unique.load(std::memory_order_seq_cst) != unique) continue;
    slot.interruptedAt.store(now, std::memory_order_relaxed);
    return true;
  }
  return false;
}

void Inflight::interrupt(uint64_t unique) {
  const int64_t now = monotonicNanos();
  if (mark(unique, now)) return;
  {
    std::lock_guard lock(mu_);
    auto& e = early_[nextEarly_++ % early_.size()];
    if (e.unique == 0) earlyCount_.fetch_add(1);
    e = {unique, now};
  }
  mark(unique, now);  // it may have begun in between, before it could see the note
}

size_t Inflight::interruptAll() { return interruptWhere(0, true); }
size_t Inflight::interruptOlder(int64_t ageNanos) { return interruptWhere(ageNanos, false); }

size_t Inflight::interruptWhere(int64_t ageNanos, bool patientToo) {
  const int64_t now = monotonicNanos();
  size_t n = 0;
  for (auto& slot : slots_) {
    if (slot.unique.load(std::memory_order_acquire) == 0) continue;
    if (slot.patient.load() && !patientToo) continue;
    if (ageNanos > 0 && now - slot.startedAt.load(std::memory_order_relaxed) < ageNanos) continue;
    slot.startedAt.store(now - 2 * kPatienceNanos, std::memory_order_relaxed);  // so that interruptedLate is true at once
    slot.interruptedAt.store(now, std::memory_order_relaxed);
    ++n;
  }
  return n;
}

size_t Inflight::busy() const {
  size_t n = 0;
  for (auto& slot : slots_) n += slot.unique.load(std::memory_order_relaxed) != 0;
  return n;
}

}  // namespace aquifer::fuse
