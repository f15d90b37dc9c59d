#include "chunk/file_writer.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/log.h"
#include "chunk/file_data_impl.h"
#include "chunk/parallel.h"

namespace aquifer::chunk {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kLookBack = 4;            // slices of a chunk that may still take bytes
constexpr size_t kManySlices = 800, kMostSlices = 1000;
constexpr size_t kBatch = 64, kBatchWidth = 16;
constexpr uint64_t kPiece = 1u << 20;      // a request up to this size is never split but at chunk borders
constexpr int64_t kMemoryWait = 600 * kSecond;

bool never() { return true; }              // "interrupted" at once: do not wait for memory

meta::Time timeNow() {
  const int64_t now = unixNanos();
  return {now / kSecond, static_cast<uint32_t>(now % kSecond)};
}

}  // namespace

FileWriterImpl::FileWriterImpl(FileDataImpl& data, meta::Ino ino, uint64_t length, uint8_t tier)
    : data_(data), ino_(ino), tier_(tier), length_(length) {}

FileWriterImpl::~FileWriterImpl() { data_.gone(ino_); }

bool FileWriterImpl::dirty() const {
  std::lock_guard lock(mu_);
  return !slices_.empty();
}

uint64_t FileWriterImpl::length() const {
  std::lock_guard lock(mu_);
  return length_;
}

void FileWriterImpl::truncated(uint64_t length) {
  std::lock_guard lock(mu_);
  length_ = length;
  for (auto& s : slices_) length_ = std::max(length_, s->end());
}

void FileWriterImpl::opened(uint64_t length) {
  std::lock_guard lock(mu_);
  length_ = slices_.empty() ? length : std::max(length_, length);
}

bool FileWriterImpl::overlaps(uint64_t off, uint64_t len) const {
  std::lock_guard lock(mu_);
  // Appended bytes stand at their expected place, or behind it when another client appends as well.
  for (auto& s : slices_)
    if (s->begin() < off + len && (s->append || off < s->end())) return true;
  return false;
}

// ---- placing bytes ----

FileWriterImpl::SliceRef FileWriterImpl::create(bool append) {
  auto s = std::make_shared<Slice>();
  s->append = append;
  s->out = data_.blocks().newSlice(tier_);
  s->startedNanos = monotonicNanos();
  return s;
}

// The slice that [pos, pos+len) of the chunk can go into, or null. Slices are committed in the order of their creation, so bytes
// may only join a slice when no younger one covers their place, and never one from before an append.
FileWriterImpl::SliceRef FileWriterImpl::place(uint32_t chunk, uint32_t pos, uint32_t len) {
  size_t seen = 0;
  for (auto it = slices_.rbegin(); it != slices_.rend(); ++it) {
    auto& s = **it;
    if (s.append) {
      s.frozen = true;
      return nullptr;
    }
    if (s.chunk != chunk) continue;
    const uint32_t end = s.pos + s.out->length();
    if (!s.frozen && s.pos + s.out->uploadedTo() <= pos && pos <= end) return *it;
    if (seen++ >= kLookBack) {
      s.frozen = true;
      return nullptr;
    }
    if (pos < end && s.pos < pos + len) return nullptr;
  }
  return nullptr;
}

Status FileWriterImpl::withMemory(size_t bytes, const std::function<bool()>& interrupted,
                                  const std::function<Status(std::unique_lock<std::mutex>&)>& put) {
  int64_t since = 0;
  for (;;) {
    {
      std::unique_lock lock(mu_);
      if (!error_) return error_;
      Status s = put(lock);
      if (!s.is(Code::interrupted)) return s;
    }
    const int64_t now = monotonicNanos();
    if (since == 0) since = now;
    if (now - since > kMemoryWait) return Status(Code::io, "no memory for writes");
    data_.relieve();
    // Only a wait: the buffer goes back at once and the next turn takes what it needs under the lock.
    auto room = data_.blocks().buffers().get(bytes, interrupted, 100);
    if (room.is(Code::interrupted)) return Code::interrupted;
  }
}

Status FileWriterImpl::writeAt(uint64_t off, object::Bytes piece, const std::function<bool()>& interrupted) {
  const auto chunk = static_cast<uint32_t>(off >> meta::kChunkBits);
  const auto pos = static_cast<uint32_t>(off & (meta::kChunkSize - 1));
  return withMemory(piece.size(), interrupted, [&](std::unique_lock<std::mutex>& lock) -> Status {
    auto s = place(chunk, pos, static_cast<uint32_t>(piece.size()));
    const bool fresh = !s;
    if (fresh) {
      s = create(false);
      s->chunk = chunk;
      s->pos = pos;
    }
    TRY(s->out->writeAt(pos - s->pos, piece, never));
    if (fresh) slices_.push_back(s);
    length_ = std::max(length_, off + piece.size());
    wrote(lock, s, fresh);
    return {};
  });
}

Status FileWriterImpl::writeAppend(object::Bytes piece, const std::function<bool()>& interrupted) {
  return withMemory(piece.size(), interrupted, [&](std::unique_lock<std::mutex>& lock) -> Status {
    // One slice takes appends until something else was written or it is full; a record goes into it whole.
    SliceRef s = slices_.empty() ? nullptr : slices_.back();
    if (s && (!s->append || s->frozen || s->out->length() + piece.size() > meta::kChunkSize)) s = nullptr;
    const bool fresh = !s;
    if (fresh) {
      s = create(true);
      s->expectedOff = length_;
    }
    TRY(s->out->writeAt(s->out->length(), piece, never));
    if (fresh) slices_.push_back(s);
    length_ += piece.size();
    wrote(lock, s, fresh);
    return {};
  });
}

void FileWriterImpl::wrote(std::unique_lock<std::mutex>& lock, const SliceRef& s, bool fresh) {
  s->modifiedNanos = monotonicNanos();
  s->mtime = timeNow();
  if (fresh) {
    ++created_;
    if (slices_.size() == 1) data_.setDirty(shared_from_this());
    if (slices_.size() > kManySlices) {
      for (size_t i = 0; i < slices_.size() / 2; ++i) slices_[i]->frozen = true;
      kick();
    }
  }
  const uint32_t length = s->out->length();
  if (s->pos + length >= meta::kChunkSize) {
    freezeAll();
    kick();
    return;
  }
  if (length < data_.blocks().config().blockSize || s->out->uploadedTo() + data_.blocks().config().blockSize > length) return;
  if (s->out->id() == 0) {
    // The id may be a trip to the metadata; writers of the same file go on meanwhile.
    lock.unlock();
    auto id = data_.meta().newSliceId();
    lock.lock();
    if (!id || s->taken) return;   // the flush asks again, and reports
    if (s->out->id() == 0) s->out->setId(*id);
  }
  if (!s->taken) s->out->flushTo(s->out->length());
}

Status FileWriterImpl::throttle(const std::function<bool()>& interrupted) {
  std::unique_lock lock(mu_);
  while (slices_.size() >= kMostSlices && error_) {
    kick();
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    if (interrupted && interrupted()) return Code::interrupted;
  }
  return error_;
}

Status FileWriterImpl::write(uint64_t off, object::Bytes bytes, bool append, const std::function<bool()>& interrupted) {
  TRY(throttle(interrupted));
  const uint64_t most = std::max(kPiece, data_.blocks().config().blockSize);
  for (size_t at = 0; at < bytes.size();) {
    uint64_t n = std::min<uint64_t>(bytes.size() - at, most);
    if (!append) n = std::min(n, meta::kChunkSize - ((off + at) & (meta::kChunkSize - 1)));
    const auto piece = bytes.subspan(at, n);
    TRY(append ? writeAppend(piece, interrupted) : writeAt(off + at, piece, interrupted));
    at += n;
  }
  return {};
}

// ---- freezing ----

void FileWriterImpl::freezeAll() {
  for (auto it = slices_.rbegin(); it != slices_.rend(); ++it) (*it)->frozen = true;
}

void FileWriterImpl::freezeOld(int64_t now) {
  std::lock_guard lock(mu_);
  for (auto& s : slices_)
    if (now - s->startedNanos > 5 * kSecond || (now - s->modifiedNanos > kSecond && now - s->startedNanos > kSecond)) s->frozen = true;
  kick();
}

void FileWriterImpl::freezeAndDrain() {
  std::lock_guard lock(mu_);
  freezeAll();
  kick();
}

void FileWriterImpl::kick() {
  if (kicked_ || draining_ || slices_.empty() || !slices_.front()->frozen || !error_) return;
  kicked_ = data_.background().trySubmit([self = shared_from_this()] {
    std::unique_lock lock(self->mu_);
    self->kicked_ = false;
    if (!self->draining_) self->drain(lock, UINT64_MAX);
  });
}

// ---- storing and committing ----

Status FileWriterImpl::flush(const std::function<bool()>& interrupted) {
  std::unique_lock lock(mu_);
  if (!error_) return error_;
  const uint64_t target = created_;
  if (finished_ >= target) return {};
  freezeAll();
  const auto& config = data_.blocks().config();
  const int64_t start = monotonicNanos();
  const int64_t retries = config.ioRetries + 2;
  const int64_t deadline = start + std::max<int64_t>(300, retries * retries / 2) * kSecond;
  // Whoever interrupts a flush too early loses bytes that are about to arrive.
  const int64_t patience = start + 2 * int64_t{config.putTimeoutMs} * 1'000'000;
  while (finished_ < target) {
    if (!error_) return error_;
    // In this thread if it can be expected to go well: no hand-over, no waking. While uploads fail it would sit in their retries,
    // deaf to interrupts, so the background does them.
    if (!draining_) {
      if (!data_.blocks().uploadsFail() || !interrupted) {
        drain(lock, target);
        continue;
      }
      kick();
    }
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    const int64_t now = monotonicNanos();
    if (now > patience && interrupted && interrupted()) return Code::interrupted;
    if (now > deadline) return Status(Code::io, "flush took too long");
  }
  return error_;
}

Status FileWriterImpl::store(Slice& s) {
  if (s.out->id() == 0) {
    TRY_ASSIGN(const auto id, data_.meta().newSliceId());
    s.out->setId(id);
  }
  return s.out->finish(s.out->length());
}

Result<Committed> FileWriterImpl::commit(Slice& s) {
  const uint32_t len = s.out->length();
  auto result = s.append ? data_.meta().commitAppend(ino_, s.out->id(), len, 0, len, s.mtime)
                         : data_.meta().commitWrite(ino_, s.chunk, {s.pos, s.out->id(), len, 0, len}, s.mtime);
  if (!result) {
    // Only a clear refusal says that nobody refers to the blocks; after anything else gc decides.
    if (!result.is(Code::notFound) && !result.is(Code::noSpace) && !result.is(Code::quotaExceeded)) s.keepBlocks = true;
    return std::move(result).status();
  }
  data_.views().invalidate(ino_, s.append ? result->offset : s.begin(), len);
  return result;
}

void FileWriterImpl::committed(const SliceRef& s, const Committed& result) {
  slices_.pop_front();
  ++finished_;
  // What is still buffered ends where it did, but for appends: they follow what was just committed.
  uint64_t end = result.length;
  for (auto& rest : slices_) end = rest->append ? end + rest->out->length() : std::max(end, rest->end());
  const bool moved = s->append && result.offset != s->expectedOff;
  length_ = slices_.empty() || moved ? end : std::max(length_, end);
  if (slices_.empty()) data_.setClean(ino_);
  changed_.notify_all();
}

void FileWriterImpl::drain(std::unique_lock<std::mutex>& lock, uint64_t target) {
  draining_ = true;
  while (error_ && finished_ < target && !slices_.empty() && slices_.front()->frozen) {
    std::vector<SliceRef> batch;
    for (auto& s : slices_) {
      if (!s->frozen || batch.size() >= kBatch) break;
      s->taken = true;
      batch.push_back(s);
    }
    lock.unlock();
    Status status = parallelFor(data_.pool(), batch.size(), kBatchWidth, [&](size_t i) { return store(*batch[i]); });
    for (size_t i = 0; status && i < batch.size(); ++i) {
      auto result = commit(*batch[i]);
      if (!result) {
        status = std::move(result).status();
        break;
      }
      lock.lock();
      committed(batch[i], *result);
      lock.unlock();
      const auto& s = *batch[i];
      const uint32_t chunk = s.append ? static_cast<uint32_t>(result->offset >> meta::kChunkBits) : s.chunk;
      data_.meta().committed(ino_, chunk, *result, s.append && result->offset != s.expectedOff);
    }
    lock.lock();
    if (!status) fail(lock, std::move(status));
  }
  draining_ = false;
  changed_.notify_all();
  kick();
}

void FileWriterImpl::fail(std::unique_lock<std::mutex>& lock, Status s) {
  LOG_ERROR("inode {}: {} slices are lost: {}", ino_, slices_.size(), s.text());
  const bool kept = s.is(Code::notFound) || s.is(Code::noSpace) || s.is(Code::quotaExceeded);
  error_ = kept ? s : Status(Code::io, s.text());
  std::deque<SliceRef> lost;
  lost.swap(slices_);
  finished_ = created_;
  for (auto& l : lost) l->taken = true;
  if (!lost.empty()) data_.setClean(ino_);
  changed_.notify_all();
  lock.unlock();
  for (auto& l : lost)
    if (!l->keepBlocks) l->out->abort();
  lock.lock();
}

}  // namespace aquifer::chunk
