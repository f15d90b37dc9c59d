// Deleted files and unused slices: records first, objects next, the last record at the end. Any step may be repeated by
// another client after a crash.
#include <algorithm>

#include "base/log.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {
constexpr size_t kRecordsAtOnce = 40;  // slice records whose references one transaction lowers
constexpr size_t kChunksAtOnce = 200;
constexpr uint64_t kChunksBeyond = 64;  // a file that was cut keeps what lay behind its end: looked for that far past the last one
}  // namespace

Result<bool> MetaImpl::addSliceRef(MetaTxn& tx, SliceId id, uint32_t size, int64_t delta) {
  if (id == 0 || delta == 0) return false;
  if (delta > 0) {
    tx.add(key::sliceRef(id, size), delta);
    return false;
  }
  tx.add(key::sliceRef(id, size), delta);
  // Asked afterwards: where absence means one holder the verb has made a record; elsewhere absence is damage, and who holds
  // the slice is not known.
  TRY_ASSIGN(auto holders, tx.find<int64_t>(key::sliceRef(id, size)));
  return holders && *holders <= 0;
}

Status MetaImpl::deleteSlice(SliceId id, uint32_t size) {
  if (config_.maxDeletes == 0 || id == 0) return {};
  auto hook = dataHooks().deleteSlice;
  if (!hook) return {};
  TRY(hook(id, size));
  return txn(
      "deleteSlice",
      [&](MetaTxn& tx) -> Status {
        tx.erase(key::sliceRef(id, size));
        if (logging()) log(tx, changelog::deleteSlice(id, size));
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; });
}

void MetaImpl::deleteSliceLater(SliceId id, uint32_t size) {
  if (config_.maxDeletes == 0 || id == 0) return;
  (void)deleter_->trySubmit([this, id, size] {  // a full queue: the job for unused slices finds it by its reference
    if (quitting_.load(std::memory_order_acquire)) return;
    if (auto s = deleteSlice(id, size); !s) LOG_WARN("delete slice {} ({} bytes): {}", id, size, s.text());
  });
}

Status MetaImpl::purgeChunk(Ino ino, uint32_t index) {
  for (size_t left = 1; left > 0;) {
    std::vector<std::pair<SliceId, uint32_t>> unused;
    TRY(txn(
        "purgeChunk",
        [&](MetaTxn& tx) -> Status {
          unused.clear();
          left = 0;
          TRY_ASSIGN(auto stored, tx.find<SliceList>(key::chunk(ino, index)));
          if (!stored) return {};
          auto& records = *stored;
          for (size_t n = 0; n < kRecordsAtOnce && !records.empty(); n++) {
            auto last = records.back();
            records.pop_back();
            TRY_ASSIGN(bool none, addSliceRef(tx, last.id, last.size, -1));
            if (none) unused.emplace_back(last.id, last.size);
          }
          left = records.size();
          if (left > 0) {
            tx.put(key::chunk(ino, index), std::move(records));
          } else {
            tx.erase(key::chunk(ino, index));
            if (logging()) log(tx, changelog::delChunk(ino, index));
          }
          return {};
        },
        // Nobody adds to the chunks of a deleted file, so its length tells.
        [&](MetaTxn& tx) -> Result<bool> {
          TRY_ASSIGN(auto stored, tx.find<SliceList>(key::chunk(ino, index)));
          return (stored ? stored->size() : 0) <= left;
        }));
    for (auto& [id, size] : unused) {
      if (quitting_.load(std::memory_order_acquire)) return {};
      if (auto s = deleteSlice(id, size); !s) LOG_WARN("delete slice {} ({} bytes): {}", id, size, s.text());
    }
  }
  return {};
}

Status MetaImpl::purgeFile(Ino ino, uint64_t length) {
  // Only the record says that the file is gone for good: the caller may have it from a commit of which the answer was lost.
  bool deleted = false;
  TRY(read("purgeFile", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(const auto at, tx.find<int64_t>(key::delFile(ino, length)));
    deleted = at.has_value();
    return {};
  }));
  if (!deleted) return {};
  for (uint64_t below = chunksIn(length) + kChunksBeyond;;) {
    std::vector<uint32_t> indexes;
    TRY(read("purgeFile", [&](MetaTxn& tx) {
      indexes.clear();
      return tx.list({.kind = Kind::chunk, .id = ino, .limit = kChunksAtOnce, .below = below}, [&](const Key& key, const Value&) {
        indexes.push_back(static_cast<uint32_t>(key.sub));
        return true;
      });
    }));
    if (indexes.empty()) break;
    below = std::max(below, indexes.back() + 1 + kChunksBeyond);
    for (auto index : indexes) {
      if (quitting_.load(std::memory_order_acquire)) return Code::interrupted;
      TRY(purgeChunk(ino, index));
    }
  }
  return txn(
      "purgeFile",
      [&](MetaTxn& tx) -> Status {
        tx.erase(key::delFile(ino, length));
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; });
}

void MetaImpl::purgeLater(Ino ino, uint64_t length) {
  (void)deleter_->trySubmit([this, ino, length] {  // a full queue: the hourly job takes the delfile record
    if (quitting_.load(std::memory_order_acquire)) return;
    auto s = purgeFile(ino, length);
    if (!s && !s.is(Code::interrupted)) LOG_WARN("purge inode {}: {}", ino, s.text());
  });
}

}  // namespace aquifer::meta
