// The slice records of files: reading a chunk, placing written data.
#include <algorithm>

#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

// After a commit whose outcome is unknown: does the chunk hold the record?
Result<bool> holds(MetaTxn& tx, Ino ino, uint32_t index, const Slice& slice) {
  TRY_ASSIGN(auto records, tx.find<SliceList>(key::chunk(ino, index)));
  return records && std::find(records->begin(), records->end(), slice) != records->end();
}

}  // namespace

Result<std::vector<Slice>> MetaImpl::readChunk(Ino ino, uint32_t index) {
  SliceList records;
  TRY(read("readChunk", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(auto stored, tx.find<SliceList>(key::chunk(ino, index)));
    if (stored) {
      records = std::move(*stored);
      return {};
    }
    records.clear();
    TRY_ASSIGN(auto attr, tx.node(ino, kFieldType));  // a file that is gone must not read as zeros
    return attr.isRegular() ? Status() : Status(Code::notPermitted);
  }));
  return records;
}

Result<WriteResult> MetaImpl::write(Ino ino, uint32_t index, const Slice& slice, Time mtime) {
  if (slice.len == 0 || uint64_t{slice.pos} + slice.len > kChunkSize) return Code::invalid;
  if (slice.id != 0 && uint64_t{slice.off} + slice.len > slice.size) return Code::invalid;
  auto begin = (static_cast<uint64_t>(index) << kChunkBits) + slice.pos;
  auto end = begin + slice.len;
  if (end > kMaxFileSize) return Code::fileTooBig;
  WriteResult result{.offset = begin};
  Charge charge(*this);
  TRY(txn(
      "write",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY_ASSIGN(auto attr, tx.node(ino));
        if (!attr.isRegular()) return Code::notPermitted;
        TRY(resize(tx, ino, attr, std::max(attr.length, end), charge));
        attr.mtime = mtime;
        attr.ctime = now();
        if (slice.id != 0) tx.insert(key::sliceRef(slice.id, slice.size), int64_t{1});
        tx.appendSlice(ino, index, slice, &result.recordCount);
        tx.put(key::node(ino), attr);
        if (logging()) log(tx, changelog::write(ino, index, slice, mtime, 0));
        result.length = attr.length;
        return {};
      },
      [&](MetaTxn& tx) { return holds(tx, ino, index, slice); }));
  charge.committed();
  return result;
}

Result<WriteResult> MetaImpl::append(Ino ino, SliceId id, uint32_t size, uint32_t off, uint32_t len, Time mtime) {
  if (id == 0 || len == 0 || len > kChunkSize || uint64_t{off} + len > size) return Code::invalid;
  WriteResult result;
  std::vector<std::pair<uint32_t, Slice>> placed;
  Charge charge(*this);
  TRY(txn(
      "append",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        placed.clear();
        TRY_ASSIGN(auto attr, tx.node(ino));
        if (!attr.isRegular()) return Code::notPermitted;
        result.offset = attr.length;
        if (result.offset + len > kMaxFileSize) return Code::fileTooBig;
        for (uint32_t done = 0; done < len;) {
          auto at = result.offset + done;
          auto pos = static_cast<uint32_t>(at % kChunkSize);
          auto n = std::min<uint32_t>(len - done, static_cast<uint32_t>(kChunkSize) - pos);
          placed.emplace_back(static_cast<uint32_t>(at >> kChunkBits), Slice{pos, id, size, off + done, n});
          done += n;
        }
        TRY(resize(tx, ino, attr, result.offset + len, charge));
        attr.mtime = mtime;
        attr.ctime = now();
        tx.insert(key::sliceRef(id, size), static_cast<int64_t>(placed.size()));
        for (auto& [index, slice] : placed) {
          tx.appendSlice(ino, index, slice, &result.recordCount);
          if (logging()) log(tx, changelog::write(ino, index, slice, mtime, 0));
        }
        tx.put(key::node(ino), attr);
        result.length = attr.length;
        return {};
      },
      [&](MetaTxn& tx) { return holds(tx, ino, placed.back().first, placed.back().second); }));
  charge.committed();
  return result;
}

}  // namespace aquifer::meta
