// Copying a range of one file into another by sharing its slices.
#include <algorithm>

#include "meta/model/slices.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

constexpr uint64_t kStep = 4 * kChunkSize;  // bytes that one transaction copies

struct Placed {
  uint32_t index;
  Slice slice;
};

// Pieces of [from, from+size) of a chunk's view, holes included, as records at `dst` of the destination.
void place(const SliceList& stored, uint64_t from, uint64_t size, uint64_t dst, std::vector<Placed>& out) {
  SliceList records;
  records.reserve(stored.size() + 1);
  records.push_back({.pos = 0, .id = 0, .size = 0, .off = 0, .len = static_cast<uint32_t>(kChunkSize)});
  records.insert(records.end(), stored.begin(), stored.end());
  for (auto& piece : paint(records)) {
    auto begin = std::max<uint64_t>(piece.pos, from), end = std::min<uint64_t>(uint64_t{piece.pos} + piece.len, from + size);
    while (begin < end) {
      auto to = dst + (begin - from);
      auto pos = to % kChunkSize;
      auto n = std::min(end - begin, kChunkSize - pos);
      auto off = piece.id == 0 ? 0 : piece.off + (begin - piece.pos);
      out.push_back({static_cast<uint32_t>(to >> kChunkBits),
                     {static_cast<uint32_t>(pos), piece.id, piece.id == 0 ? 0 : piece.size, static_cast<uint32_t>(off),
                      static_cast<uint32_t>(n)}});
      begin += n;
    }
  }
}

}  // namespace

// At most kStep bytes, in one transaction; returns how many (0 at the end of the source).
Result<uint64_t> MetaImpl::copyStep(Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size, uint64_t* dstLength) {
  uint64_t copied = 0;
  std::vector<Placed> placed;
  Time time;
  Charge charge(*this);
  TRY(txn(
      "copyFileRange",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        placed.clear();
        copied = 0;
        TRY_ASSIGN(auto from, tx.node(src, kFieldType | kFieldLength));
        TRY_ASSIGN(auto to, tx.node(dst));
        if (!from.isRegular() || !to.isRegular()) return Code::invalid;
        if ((to.flags & (kFlagImmutable | kFlagAppend)) != 0) return Code::notPermitted;
        *dstLength = to.length;
        if (srcOff >= from.length) return {};
        copied = std::min(size, from.length - srcOff);
        if (dstOff > kMaxFileSize || copied > kMaxFileSize - dstOff) return Code::fileTooBig;
        for (uint64_t done = 0; done < copied;) {
          auto at = srcOff + done;
          auto pos = at % kChunkSize;
          auto n = std::min(copied - done, kChunkSize - pos);
          TRY_ASSIGN(auto stored, tx.find<SliceList>(key::chunk(src, static_cast<uint32_t>(at >> kChunkBits))));
          place(stored.value_or(SliceList()), pos, n, dstOff + done, placed);
          done += n;
        }
        TRY(resize(tx, dst, to, std::max(to.length, dstOff + copied), charge));
        time = to.mtime = to.ctime = now();
        for (auto& p : placed) {
          tx.appendSlice(dst, p.index, p.slice);
          TRY(addSliceRef(tx, p.slice.id, p.slice.size, 1));
        }
        tx.put(key::node(dst), to);
        *dstLength = to.length;
        if (logging()) log(tx, changelog::copyFileRange(src, srcOff, dst, dstOff, copied, to.length));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(dst)));
        return attr && attr->ctime == time;
      }));
  charge.committed();
  return copied;
}

Result<uint64_t> MetaImpl::copyFileRange(const Context&, Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size,
                                         uint64_t* dstLength) {
  if (config_.readOnly) return Code::readOnly;
  uint64_t length = 0, done = 0;
  if (dstOff > kMaxFileSize) return Code::fileTooBig;
  srcOff = std::min(srcOff, kMaxFileSize);
  size = std::min(size, kMaxFileSize);
  if (src == dst && srcOff < dstOff + size && dstOff < srcOff + size) return Code::invalid;
  do {
    auto n = copyStep(src, srcOff + done, dst, dstOff + done, std::min(kStep, size - done), &length);
    if (!n) {
      if (done == 0) return n;
      break;  // as with any copy that fails midway, what was copied counts
    }
    done += *n;
    if (*n == 0) break;
  } while (done < size);
  if (dstLength) *dstLength = length;
  return done;
}

}  // namespace aquifer::meta
