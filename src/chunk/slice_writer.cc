#include "chunk/slice_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/stages.h"

namespace aquifer::chunk {

SliceWriterImpl::SliceWriterImpl(Store& store, uint8_t tier, bool mayStage)
    : store_(store),
      tier_(tier),
      mayStage_(mayStage),
      blockSize_(static_cast<uint32_t>(store.config().blockSize)),
      up_(std::make_shared<Uploads>()) {}

SliceWriterImpl::~SliceWriterImpl() {
  if (!finished_) abort();
}

// The capacity that a block's buffer needs for `bytes` bytes. The first block of a slice grows with its data, since most slices
// are small; those behind it belong to a stream and get their full size at once.
void SliceWriterImpl::ensure(uint32_t block, uint32_t bytes, size_t* capacity) const {
  const size_t have = block < blocks_.size() && blocks_[block] ? blocks_[block]->capacity() : 0;
  if (bytes <= have) {
    *capacity = 0;
    return;
  }
  const size_t full = std::bit_ceil(size_t{blockSize_});
  *capacity = block > 0 ? full : std::min(full, std::max(std::bit_ceil(size_t{bytes}), have * 4));
}

Status SliceWriterImpl::writeAt(uint32_t off, object::Bytes data, const std::function<bool()>& interrupted) {
  if (finished_ || off > length_ || off < uploadedTo_ || data.size() > meta::kChunkSize - off) return Code::invalid;
  if (data.empty()) return {};
  const uint32_t end = off + static_cast<uint32_t>(data.size());
  const uint32_t first = off / blockSize_, last = (end - 1) / blockSize_;
  std::vector<std::pair<uint32_t, BufferRef>> fresh;
  for (uint32_t b = first; b <= last; ++b) {
    const uint32_t start = b * blockSize_;
    size_t capacity = 0;
    ensure(b, std::min(end - start, blockSize_), &capacity);
    if (capacity == 0) continue;
    TRY_ASSIGN(auto buffer, store_.buffers().get(capacity, interrupted));
    fresh.emplace_back(b, std::move(buffer));
  }
  if (blocks_.size() <= last) blocks_.resize(last + 1);
  for (auto& [b, buffer] : fresh) {
    if (blocks_[b]) {
      std::memcpy(buffer->data(), blocks_[b]->data(), blocks_[b]->size);
      buffer->size = blocks_[b]->size;
    }
    blocks_[b] = std::move(buffer);
  }
  for (uint32_t at = off; at < end;) {
    const uint32_t b = at / blockSize_, inBlock = at % blockSize_;
    const uint32_t n = std::min(end - at, blockSize_ - inBlock);
    std::memcpy(blocks_[b]->data() + inBlock, data.data() + (at - off), n);
    blocks_[b]->size = std::max<size_t>(blocks_[b]->size, inBlock + n);
    at += n;
  }
  length_ = std::max(length_, end);
  return {};
}

bool SliceWriterImpl::copyOut(uint32_t off, object::MutableBytes out) const {
  if (finished_ || off < uploadedTo_ || off > length_ || out.size() > length_ - off) return false;
  for (size_t at = 0; at < out.size();) {
    const auto place = off + static_cast<uint32_t>(at);
    const uint32_t b = place / blockSize_, inBlock = place % blockSize_;
    const size_t n = std::min<size_t>(out.size() - at, blockSize_ - inBlock);
    std::memcpy(out.data() + at, blocks_[b]->data() + inBlock, n);
    at += n;
  }
  return true;
}

void SliceWriterImpl::upload(Store& store, const std::shared_ptr<Uploads>& up, const BlockId& id, const BufferRef& data, uint8_t tier,
                             bool mayStage) {
  Status s = up->givenUp() ? Status(Code::interrupted) : store.storeBlock(id, data, tier, mayStage, [&] { return up->givenUp(); });
  std::lock_guard lock(up->mu);
  if (s) {
    up->stored.push_back(id);
  } else if (up->first) {
    up->first = std::move(s);
  }
}

bool SliceWriterImpl::handOver(uint32_t block, uint32_t length) {
  const BlockId id = blockAt(block, length);
  {
    std::lock_guard lock(up_->mu);
    ++up_->running;
  }
  auto task = [&store = store_, up = up_, id, data = blocks_[block], tier = tier_, mayStage = mayStage_] {
    const StageNanos before = ScopedStage::sums();
    upload(store, up, id, data, tier, mayStage);
    const StageNanos grown = ScopedStage::since(before);
    std::vector<BlockId> unwanted;
    {
      std::lock_guard lock(up->mu);
      if (up->aborted) unwanted.swap(up->stored);
      --up->running;
      for (size_t i = 0; i < kStages; ++i) up->stages[i] += grown[i];
      up->idle.notify_all();
    }
    for (auto& b : unwanted) store.removeBlock(b);
  };
  if (!store_.uploads().trySubmit(std::move(task))) {
    std::lock_guard lock(up_->mu);
    --up_->running;
    return false;
  }
  blocks_[block].reset();
  uploadedTo_ = std::min<uint64_t>(length, (uint64_t{block} + 1) * blockSize_);
  return true;
}

void SliceWriterImpl::flushTo(uint32_t off) {
  if (id_ == 0 || finished_) return;
  off = std::min(off, length_);
  while (uploadedTo_ + blockSize_ <= off)
    if (!handOver(uploadedTo_ / blockSize_, length_)) return;
}

Status SliceWriterImpl::finish(uint32_t length) {
  if (finished_ || id_ == 0 || length != length_) return Code::invalid;
  const uint32_t count = blockCount(length, blockSize_);
  // Whatever does not fit into the queue is stored by this thread, and so is the last block: a small slice never changes threads.
  for (uint32_t b = uploadedTo_ / blockSize_; uploadedTo_ < length && b < count; ++b) {
    if (b + 1 < count && handOver(b, length)) continue;
    upload(store_, up_, blockAt(b, length), blocks_[b], tier_, mayStage_);
    blocks_[b].reset();
    uploadedTo_ = static_cast<uint32_t>(std::min<uint64_t>(length, (uint64_t{b} + 1) * blockSize_));
  }
  std::unique_lock lock(up_->mu);
  if (up_->running > 0) {
    const int64_t start = monotonicNanos();
    up_->idle.wait(lock, [&] { return up_->running == 0; });
    ScopedStage::waited(monotonicNanos() - start, up_->stages);
  }
  if (!up_->first) return up_->first;
  finished_ = true;
  return {};
}

void SliceWriterImpl::abort() {
  finished_ = true;
  blocks_.clear();
  std::vector<BlockId> unwanted;
  {
    std::lock_guard lock(up_->mu);
    up_->aborted = true;
    unwanted.swap(up_->stored);
  }
  if (unwanted.empty()) return;
  auto remove = [&store = store_, unwanted] {
    for (auto& b : unwanted) store.removeBlock(b);
  };
  if (!store_.uploads().trySubmit(remove)) remove();
}

}  // namespace aquifer::chunk
