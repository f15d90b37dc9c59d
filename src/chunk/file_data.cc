#include "chunk/file_data.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "chunk/file_data_impl.h"
#include "chunk/file_reader.h"
#include "chunk/file_writer.h"

namespace aquifer::chunk {

namespace {

constexpr int kPieceThreads = 16, kBackgroundThreads = 8;
constexpr int64_t kRelievePause = 20'000'000;
constexpr int kIdleTicks = 20;

}  // namespace

FileDataImpl::FileDataImpl(BlockStore& blocks, SliceSource& meta)
    : blocks_(blocks),
      meta_(meta),
      views_([this](meta::Ino ino, uint32_t index) { return meta_.readChunk(ino, index); }),
      pool_("file-io", kPieceThreads, 1024),
      background_("file-flush", kBackgroundThreads, 1024),
      flusher_([this] { flushLoop(); }) {}

FileDataImpl::~FileDataImpl() {
  {
    std::lock_guard lock(mu_);
    stop_ = true;
  }
  tick_.notify_all();
  flusher_.join();
  (void)flushAll();
  background_.stop();
  pool_.stop();
}

std::shared_ptr<FileWriterImpl> FileDataImpl::find(meta::Ino ino) {
  std::lock_guard lock(mu_);
  auto it = writers_.find(ino);
  return it == writers_.end() ? nullptr : it->second.lock();
}

std::shared_ptr<FileWriter> FileDataImpl::writer(meta::Ino ino, uint64_t length, uint8_t tier) {
  std::shared_ptr<FileWriterImpl> w;
  {
    std::lock_guard lock(mu_);
    auto& slot = writers_[ino];
    w = slot.lock();
    if (!w) {
      w = std::make_shared<FileWriterImpl>(*this, ino, length, tier);
      slot = w;
      return w;
    }
  }
  w->opened(length);
  return w;
}

std::shared_ptr<FileWriter> FileDataImpl::existingWriter(meta::Ino ino) { return find(ino); }

std::unique_ptr<FileReader> FileDataImpl::reader(meta::Ino ino) { return std::make_unique<FileReaderImpl>(*this, ino); }

void FileDataImpl::setDirty(const std::shared_ptr<FileWriterImpl>& writer) {
  std::lock_guard lock(mu_);
  dirty_[writer->ino()] = writer;
  dirtyCount_.store(dirty_.size(), std::memory_order_release);
  if (asleep_) tick_.notify_all();
}

void FileDataImpl::setClean(meta::Ino ino) {
  std::shared_ptr<FileWriterImpl> last;   // destroyed after the lock: its destructor takes it again
  std::lock_guard lock(mu_);
  if (auto it = dirty_.find(ino); it != dirty_.end()) {
    last = std::move(it->second);
    dirty_.erase(it);
  }
  dirtyCount_.store(dirty_.size(), std::memory_order_release);
}

void FileDataImpl::gone(meta::Ino ino) {
  std::lock_guard lock(mu_);
  // A new writer of the inode may have taken the place already.
  if (auto it = writers_.find(ino); it != writers_.end() && it->second.expired()) writers_.erase(it);
}

std::vector<std::shared_ptr<FileWriterImpl>> FileDataImpl::dirtyWriters() {
  std::vector<std::shared_ptr<FileWriterImpl>> out;
  std::lock_guard lock(mu_);
  out.reserve(dirty_.size());
  for (auto& [ino, w] : dirty_) out.push_back(w);
  return out;
}

void FileDataImpl::relieve() {
  int64_t last = relievedAt_.load(std::memory_order_relaxed);
  const int64_t now = monotonicNanos();
  if (now - last < kRelievePause || !relievedAt_.compare_exchange_strong(last, now)) return;
  blocks_.dropReadBuffers();
  for (auto& w : dirtyWriters()) w->freezeAndDrain();
}

Status FileDataImpl::flush(meta::Ino ino, const std::function<bool()>& interrupted) {
  auto w = find(ino);
  return w ? w->flush(interrupted) : Status();
}

Status FileDataImpl::flushAll() {
  Status first;
  for (auto& w : dirtyWriters())
    if (auto s = w->flush({}); !s && first) first = std::move(s);
  return first;
}

void FileDataImpl::flushLoop() {
  setThreadName("file-freeze");
  std::unique_lock lock(mu_);
  // Small files are dirty for less than a millisecond: this thread goes on ticking for a while rather than be woken for each.
  for (int idleTicks = 0; !stop_;) {
    if (dirty_.empty() && idleTicks > kIdleTicks) {
      asleep_ = true;
      tick_.wait(lock, [&] { return stop_ || !dirty_.empty(); });
      asleep_ = false;
      idleTicks = 0;
      continue;
    }
    tick_.wait_for(lock, std::chrono::milliseconds(100), [&] { return stop_; });
    idleTicks = dirty_.empty() ? idleTicks + 1 : 0;
    if (dirty_.empty()) continue;
    lock.unlock();
    const int64_t now = monotonicNanos();
    for (auto& w : dirtyWriters()) w->freezeOld(now);
    lock.lock();
  }
}

std::unique_ptr<FileData> makeFileData(BlockStore& blocks, SliceSource& meta) { return std::make_unique<FileDataImpl>(blocks, meta); }

}  // namespace aquifer::chunk
