// Changing lengths and punching holes: truncate, fallocate.
//
// Records beyond the end of a file stay where they are: a hole is written over what a truncation cuts off *and* over what it
// adds, so that growing again never shows old bytes.
#include <algorithm>

#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

Slice hole(uint64_t pos, uint64_t len) {
  return {.pos = static_cast<uint32_t>(pos), .id = 0, .size = 0, .off = 0, .len = static_cast<uint32_t>(len)};
}

}  // namespace

Status MetaImpl::resize(MetaTxn& tx, Ino ino, Attr& attr, uint64_t length, Charge& charge) {
  if (length == attr.length) return {};
  if (length > kMaxFileSize) return Code::fileTooBig;
  auto grown = static_cast<int64_t>(length) - static_cast<int64_t>(attr.length);
  auto space = alignSpace(length) - alignSpace(attr.length);
  TRY(charge.owner(tx, attr.uid, attr.gid, space, 0));
  TRY(charge.volume(tx, space, 0));
  TRY(charge.parents(tx, ino, attr, grown, space));
  attr.length = length;
  return {};
}

Status MetaImpl::addHoles(MetaTxn& tx, Ino ino, uint64_t from, uint64_t to, bool firstAnyway) {
  if (from >= to) return {};
  auto first = static_cast<uint32_t>(from >> kChunkBits), last = static_cast<uint32_t>((to - 1) >> kChunkBits);
  std::vector<uint32_t> chunks;
  if (firstAnyway) chunks.push_back(first);
  auto collect = [&](const Key& key, const Value&) {
    if (key.sub > last) return false;
    if (chunks.empty() || chunks.back() != key.sub) chunks.push_back(static_cast<uint32_t>(key.sub));
    return true;
  };
  if (first == last && !firstAnyway) {
    TRY_ASSIGN(auto stored, tx.find<SliceList>(key::chunk(ino, first)));
    if (stored) chunks.push_back(first);
  } else if (first < last) {
    Range range{.kind = Kind::chunk, .id = ino, .below = uint64_t{last} + 1};
    if (first > 0) range.after = key::chunk(ino, first - 1);
    TRY(tx.list(range, collect));
  }
  for (auto index : chunks) {
    auto start = static_cast<uint64_t>(index) << kChunkBits;
    auto begin = std::max(start, from), end = std::min(start + kChunkSize, to);
    tx.appendSlice(ino, index, hole(begin - start, end - begin));
  }
  return {};
}

Result<Attr> MetaImpl::truncate(const Context& ctx, Ino ino, uint64_t length, bool byHandle) {
  if (config_.readOnly) return Code::readOnly;
  if (length > kMaxFileSize) return Code::fileTooBig;
  Attr result;
  Charge charge(*this);
  TRY(txn(
      "truncate",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY_ASSIGN(auto attr, tx.node(ino));
        if (!attr.isRegular() || (attr.flags & (kFlagImmutable | kFlagAppend)) != 0) return Code::notPermitted;
        if (!byHandle) {
          if (attr.parent > kTrashIno) return Code::notPermitted;
          TRY(allowed(ctx, tx, attr, 2));
        }
        result = attr;
        auto old = attr.length;
        TRY(resize(tx, ino, attr, length, charge));
        TRY(addHoles(tx, ino, std::min(old, length), std::max(old, length), true));
        attr.mtime = attr.ctime = now();
        tx.put(key::node(ino), attr);
        if (logging()) log(tx, changelog::truncate(ino, old, length, byHandle ? 1 : 0));
        result = attr;
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(ino)));
        return attr && *attr == result;
      }));
  charge.committed();
  TRY(presentAfter(ino, result));
  return result;
}

Result<Attr> MetaImpl::fallocate(const Context&, Ino ino, uint32_t mode, uint64_t off, uint64_t size) {
  if (config_.readOnly) return Code::readOnly;
  if (size == 0) return Code::invalid;
  if (mode == kFallocCollapse || mode == kFallocInsert) return Code::unsupported;
  constexpr uint32_t kKnown = kFallocKeepSize | kFallocPunchHole | kFallocZeroRange;
  if ((mode & ~kKnown) != 0) return (mode & (kFallocCollapse | kFallocInsert)) != 0 ? Code::invalid : Code::unsupported;
  bool keep = (mode & kFallocKeepSize) != 0, punch = (mode & kFallocPunchHole) != 0, zero = (mode & kFallocZeroRange) != 0;
  if (punch && !keep) return Code::invalid;
  if (punch && zero) return Code::unsupported;
  if (off > kMaxFileSize || size > kMaxFileSize || off + size > kMaxFileSize) return Code::fileTooBig;
  Attr result;
  Charge charge(*this);
  TRY(txn(
      "fallocate",
      [&](MetaTxn& tx) -> Status {
        charge.reset();
        TRY_ASSIGN(auto attr, tx.node(ino));
        if (attr.type == FileType::fifo) return Code::brokenPipe;
        if (!attr.isRegular() || (attr.flags & kFlagImmutable) != 0) return Code::notPermitted;
        if ((attr.flags & kFlagAppend) != 0 && (mode & ~kFallocKeepSize) != 0) return Code::notPermitted;
        auto old = attr.length;
        if (!keep) TRY(resize(tx, ino, attr, std::max(old, off + size), charge));
        if (punch || zero) TRY(addHoles(tx, ino, off, std::min(off + size, old), false));
        attr.mtime = attr.ctime = now();
        tx.put(key::node(ino), attr);
        if (logging()) log(tx, changelog::fallocate(ino, off, size, mode));
        result = attr;
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(ino)));
        return attr && *attr == result;
      }));
  charge.committed();
  TRY(presentAfter(ino, result));
  return result;
}

}  // namespace aquifer::meta
