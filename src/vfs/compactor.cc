#include "vfs/compactor.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"

namespace aquifer::vfs {

namespace {
// Bytes that a compaction may write again for each record that came since the last one. A reader pays for a record with a request, a
// writer with nothing.
constexpr uint64_t kBytesPerReadRecord = 256 << 10, kBytesPerWrittenRecord = 64 << 10;
constexpr size_t kMostRecords = 1000;                      // at the latest
constexpr size_t kReadThreshold = 5;
constexpr int64_t kSettledNanos = 60'000'000'000;          // after this a chunk counts as new
}  // namespace

Compactor::Compactor(meta::Meta& meta, std::function<void(Ino, uint32_t)> changed)
    : meta_(meta), changed_(std::move(changed)), pool_("compact", kThreads, kQueue) {}

void Compactor::stop() {
  stopped_ = true;
  pool_.stop();
}

void Compactor::afterRead(Ino ino, uint32_t index, size_t records) {
  if (records >= kReadThreshold && !readOnly_) start(ino, index, records, kBytesPerReadRecord);
}

void Compactor::afterWrite(Ino ino, uint32_t index, uint32_t records) {
  if (stopped_) return;
  if (records >= kSyncThreshold) {
    {
      std::lock_guard lock(mu_);
      if (!running_.emplace(ChunkKey{ino, index}, true).second) return;
    }
    compact(ino, index);
  } else if (records % 100 == 99 || records > 350) {
    start(ino, index, records, kBytesPerWrittenRecord);
  }
}

bool compactionPays(const LastCompaction& last, size_t records, uint64_t bytesPerRecord, int64_t nowNanos) {
  if (records >= last.records && records < last.records + kReadThreshold) return false;
  return nowNanos - last.atNanos > kSettledNanos || records >= std::min<uint64_t>(last.bytes / bytesPerRecord, kMostRecords);
}

void Compactor::start(Ino ino, uint32_t index, size_t records, uint64_t bytesPerRecord) {
  ChunkKey key{ino, index};
  {
    std::lock_guard lock(mu_);
    if (auto it = last_.find(key); it != last_.end() && !compactionPays(it->second, records, bytesPerRecord, monotonicNanos())) return;
    if (!running_.emplace(key, true).second) return;
    if (last_.size() >= kRemembered) last_.clear();
    last_[key] = {records, 0, monotonicNanos()};
  }
  if (!pool_.trySubmit([this, ino, index] { compact(ino, index); })) {
    std::lock_guard lock(mu_);
    running_.erase(key);
    last_.erase(key);
  }
}

void Compactor::compact(Ino ino, uint32_t index) {
  auto written = meta_.compactChunk(ino, index);
  if (written) changed_(ino, index);
  else if (!written.is(Code::notFound)) LOG_WARN("compact chunk {} of inode {}: {}", index, ino, written.status().text());
  std::lock_guard lock(mu_);
  if (auto it = last_.find({ino, index}); it != last_.end() && written) {
    it->second.bytes = *written;
    it->second.atNanos = monotonicNanos();
    if (*written > 0) it->second.records = 1;
  }
  running_.erase({ino, index});
}

}  // namespace aquifer::vfs
