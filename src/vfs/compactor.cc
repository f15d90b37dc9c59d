#include "vfs/compactor.h"

#include "base/log.h"

namespace aquifer::vfs {

Compactor::Compactor(meta::Meta& meta, std::function<void(Ino, uint32_t)> changed)
    : meta_(meta), changed_(std::move(changed)), pool_("compact", kThreads, kQueue) {}

void Compactor::stop() {
  stopped_ = true;
  pool_.stop();
}

void Compactor::afterRead(Ino ino, uint32_t index, size_t records) {
  if (records >= kReadThreshold && !readOnly_) start(ino, index, records);
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
    start(ino, index, records);
  }
}

void Compactor::start(Ino ino, uint32_t index, size_t records) {
  ChunkKey key{ino, index};
  {
    std::lock_guard lock(mu_);
    auto tried = tried_.find(key);
    if (tried != tried_.end() && records >= tried->second && records < tried->second + kReadThreshold) return;
    if (!running_.emplace(key, true).second) return;
    if (tried_.size() >= kRemembered) tried_.clear();
    tried_[key] = records;
  }
  if (!pool_.trySubmit([this, ino, index] { compact(ino, index); })) {
    std::lock_guard lock(mu_);
    running_.erase(key);
    tried_.erase(key);
  }
}

void Compactor::compact(Ino ino, uint32_t index) {
  auto s = meta_.compactChunk(ino, index);
  if (s) changed_(ino, index);
  else if (!s.is(Code::notFound)) LOG_WARN("compact chunk {} of inode {}: {}", index, ino, s.text());
  std::lock_guard lock(mu_);
  running_.erase({ino, index});
}

}  // namespace aquifer::vfs
