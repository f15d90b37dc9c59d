#include "chunk/file_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/stages.h"
#include "chunk/file_data_impl.h"
#include "chunk/parallel.h"

namespace aquifer::chunk {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint32_t kJoin = 1u << 20;       // a slice up to this size, or smaller than the one before it, is copied to its end
constexpr size_t kManySlices = 4000, kMostSlices = 5000;
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

bool FileWriterImpl::appending() const {
  std::lock_guard lock(mu_);
  return std::any_of(slices_.begin(), slices_.end(), [](const SliceRef& s) { return s->append; });
}

Result<bool> FileWriterImpl::overlay(uint64_t off, object::MutableBytes out, std::vector<ByteRange>& covered,
                                     const std::function<bool()>& interrupted) {
  const uint64_t end = off + out.size();
  std::unique_lock lock(mu_);
  // A slice that is being stored will be committed in a moment, and its buffers are not ours to look at.
  for (;;) {
    if (!slices_.empty() && slices_.back()->append) return false;   // nothing placed can be younger than appended bytes
    bool busy = false;
    for (auto it = slices_.begin(); frozen_ > 0 && it != slices_.end(); ++it) {
      const Slice& s = **it;
      if (s.append) return false;
      busy |= s.taken && s.begin() < end && off < s.end();
    }
    if (!busy || !error_) break;
    ScopedStage stage(Stage::queue);
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    if (interrupted && interrupted()) return Code::interrupted;
  }
  covered.clear();
  const auto copy = [&](const Slice& s) {
    const ByteRange r{std::max(off, s.begin()), std::min(end, s.end())};
    if (r.begin >= r.end) return true;
    readBack_ = true;
    covered.push_back(r);
    return !s.taken && s.out->copyOut(static_cast<uint32_t>(r.begin - s.begin()), out.subspan(r.begin - off, r.end - r.begin));
  };
  for (auto it = slices_.begin(); frozen_ > 0 && it != slices_.end(); ++it)   // the younger ones over the older ones
    if ((*it)->frozen && !copy(**it)) return false;
  auto open = open_.upper_bound(off);
  if (open != open_.begin()) --open;
  for (; open != open_.end() && open->first < end; ++open)
    if (!copy(*open->second)) return false;
  std::sort(covered.begin(), covered.end(), [](const ByteRange& x, const ByteRange& y) { return x.begin < y.begin; });
  size_t kept = 0;
  for (const ByteRange& r : covered) {
    if (kept > 0 && r.begin <= covered[kept - 1].end)
      covered[kept - 1].end = std::max(covered[kept - 1].end, r.end);
    else
      covered[kept++] = r;
  }
  covered.resize(kept);
  return true;
}

// ---- placing bytes ----

FileWriterImpl::SliceRef FileWriterImpl::create(bool append) {
  auto s = std::make_shared<Slice>();
  s->append = append;
  s->out = data_.blocks().newSlice(tier_);
  s->startedNanos = monotonicNanos();
  return s;
}

void FileWriterImpl::freeze(Slice& s) {
  if (std::exchange(s.frozen, true)) return;
  ++frozen_;
  if (!s.append) open_.erase(s.begin());
}

// Does a frozen slice lie in the range? With youngerThan: one that will be committed after that slice.
bool FileWriterImpl::frozenMeets(uint64_t begin, uint64_t end, const Slice* youngerThan) const {
  if (frozen_ == 0) return false;
  for (auto it = slices_.rbegin(); it != slices_.rend() && it->get() != youngerThan; ++it)
    if ((*it)->frozen && ((*it)->append || ((*it)->begin() < end && begin < (*it)->end()))) return true;
  return false;
}

// The slice that [off, off+len) can go into, or null: then it begins one of its own, and open slices that it covers are frozen.
FileWriterImpl::SliceRef FileWriterImpl::place(uint64_t off, uint64_t len) {
  auto after = open_.upper_bound(off);
  SliceRef into;
  if (after != open_.begin()) {
    auto& s = std::prev(after)->second;
    if (off >= s->begin() + s->out->uploadedTo() && off <= s->end() && (off >> meta::kChunkBits) == s->chunk) into = s;
  }
  const bool meetsNext = after != open_.end() && after->first < off + len;
  if (into && !meetsNext && !frozenMeets(off, off + len, into.get())) return into;
  while (after != open_.end() && after->first < off + len) freeze(*(after++)->second);
  after = open_.upper_bound(off);
  if (after != open_.begin())
    if (auto s = std::prev(after)->second; s->end() > off) freeze(*s);
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
    if (!slices_.empty() && slices_.back()->append) freeze(*slices_.back());   // what is appended from now on comes after this
    auto s = place(off, piece.size());
    const bool fresh = !s;
    if (fresh) {
      s = create(false);
      s->chunk = chunk;
      s->pos = pos;
    }
    TRY(s->out->writeAt(pos - s->pos, piece, never));
    if (fresh) {
      slices_.push_back(s);
      open_.emplace(off, s);
    }
    length_ = std::max(length_, off + piece.size());
    join(s);
    wrote(lock, s, fresh);
    return {};
  });
}

// What was written in pieces, in any order, leaves as one slice: a slice that has grown to where another one begins takes it over.
void FileWriterImpl::join(const SliceRef& s) {
  for (;;) {
    if (s->frozen || s->out->uploadedTo() > 0) return;
    const uint64_t begin = s->end();
    auto next = open_.find(begin);
    if (next == open_.end()) return;
    const SliceRef o = next->second;
    const uint32_t length = o->out->length();
    if (o->chunk != s->chunk || o->out->uploadedTo() > 0 || (length > kJoin && length > s->out->length())) return;
    if (frozenMeets(begin, begin + length, nullptr)) return;   // its place in the order of commits changes
    std::byte piece[16 << 10];
    for (uint32_t at = 0, n; at < length; at += n) {
      n = std::min<uint32_t>(sizeof piece, length - at);
      const object::MutableBytes bytes{piece, n};
      if (o->out->copyOut(at, bytes) && s->out->writeAt(s->out->length(), bytes, never)) continue;
      // Short of memory: what has been copied so far stands in both, so neither may change any more.
      freeze(*s);
      freeze(*o);
      return;
    }
    s->startedNanos = std::min(s->startedNanos, o->startedNanos);
    open_.erase(next);
    slices_.erase(std::find(slices_.begin(), slices_.end(), o));
    --created_;   // it was no part of a flush under way: those freeze what they wait for
    o->out->abort();
  }
}

Status FileWriterImpl::writeAppend(object::Bytes piece, const std::function<bool()>& interrupted) {
  return withMemory(piece.size(), interrupted, [&](std::unique_lock<std::mutex>& lock) -> Status {
    // One slice takes appends until something else was written or it is full; a record goes into it whole.
    SliceRef s = slices_.empty() ? nullptr : slices_.back();
    if (s && (!s->append || s->frozen || s->out->length() + piece.size() > meta::kChunkSize)) s = nullptr;
    const bool fresh = !s;
    if (fresh) {
      freezeAll();   // where these bytes will stand is not known: nothing older may grow any more
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
      for (size_t i = 0; i < slices_.size() / 2; ++i) freeze(*slices_[i]);
      kick();
    }
  }
  const uint32_t length = s->out->length();
  if (s->pos + length >= meta::kChunkSize) {
    freezeAll();
    kick();
    return;
  }
  // Whoever reads what it writes (a linker) gets it from memory; a stream leaves as it comes.
  if (readBack_ || length < data_.blocks().config().blockSize || s->out->uploadedTo() + data_.blocks().config().blockSize > length) return;
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
    ScopedStage stage(Stage::queue);
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
  for (auto& s : slices_) freeze(*s);
}

void FileWriterImpl::freezeOld(int64_t now) {
  std::lock_guard lock(mu_);
  // The end of a file, where others may be waiting for more, leaves after a second of rest; what is written here and there may still
  // come together.
  for (auto& s : slices_) {
    const bool atEnd = s->append || s->end() >= length_;
    if (now - s->startedNanos > 5 * kSecond || (atEnd && now - s->modifiedNanos > kSecond && now - s->startedNanos > kSecond)) freeze(*s);
  }
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
    ScopedStage stage(Stage::queue);
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
  --frozen_;
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
  open_.clear();
  frozen_ = 0;
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
