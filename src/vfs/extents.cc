#include "vfs/extents.h"

#include <algorithm>

#include "meta/model/slices.h"
#include "meta/store/with_txn.h"

namespace aquifer::vfs {

using meta::kChunkBits;
using meta::kChunkSize;

uint64_t dataBytes(const std::vector<meta::Slice>& records, uint64_t limit) {
  uint64_t sum = 0;
  for (auto& p : meta::paint(records)) {
    if (p.pos >= limit) break;
    if (p.id != 0) sum += std::min<uint64_t>(p.len, limit - p.pos);
  }
  return sum;
}

uint64_t nextInChunk(const std::vector<meta::Slice>& records, uint64_t from, uint64_t limit, bool wantData) {
  uint64_t at = from;   // everything in [from, at) is of the other kind
  for (auto& p : meta::paint(records)) {
    uint64_t end = uint64_t{p.pos} + p.len;
    if (end <= at) continue;
    if (at >= limit) return limit;
    bool data = p.id != 0;
    if (p.pos > at && !wantData) return at;   // a gap in front of the piece
    if (data == wantData) return std::min(limit, std::max<uint64_t>(at, p.pos));
    at = end;
  }
  return wantData ? limit : std::min(at, limit);
}

Result<uint64_t> seekExtent(meta::MetaStore& store, Ino ino, uint64_t length, uint64_t off, bool wantData) {
  if (off >= length) return Code::noSuchAddress;
  uint64_t found = UINT64_MAX;
  auto s = meta::withRead(store, "lseek", [&](meta::MetaTxn& txn) -> Status {
    found = UINT64_MAX;
    uint64_t at = off;   // [off, at) is of the other kind
    meta::Range range;
    range.kind = meta::Kind::chunk;
    range.id = ino;
    range.below = meta::chunksIn(length);
    if (off >> kChunkBits) range.after = meta::key::chunk(ino, static_cast<uint32_t>((off >> kChunkBits) - 1));
    TRY(txn.list(range, [&](const meta::Key& key, const meta::Value& value) {
      uint64_t start = key.sub << kChunkBits;
      if (start + kChunkSize <= at) return true;
      if (start >= length) return false;
      if (start > at) {        // chunks that are not stored are holes
        if (!wantData) {
          found = at;
          return false;
        }
        at = start;
      }
      auto* records = std::get_if<meta::SliceList>(&value);
      uint64_t limit = std::min(kChunkSize, length - start);
      uint64_t pos = nextInChunk(records ? *records : meta::SliceList{}, at - start, limit, wantData);
      if (pos < limit) {
        found = start + pos;
        return false;
      }
      at = start + limit;
      return at < length;
    }));
    if (found == UINT64_MAX && !wantData) found = std::min(at, length);
    return {};
  });
  TRY(s);
  if (found >= length) {
    if (wantData) return Code::noSuchAddress;
    return length;
  }
  return found;
}

uint64_t BlockCounts::of(Ino ino, const Attr& attr, bool settled) {
  uint64_t blocks = (attr.length + 511) / 512;
  if (!asksSlices(attr) || known(ino, attr, &blocks)) return blocks;
  uint64_t counted = blocks;
  auto s = meta::withRead(store_, "blocks", [&](meta::MetaTxn& txn) -> Status {
    TRY_ASSIGN(counted, count(txn, ino, attr));
    return {};
  });
  if (!s) return blocks;   // a statistic is no reason to fail a stat
  if (settled) remember(ino, attr, counted);
  return counted;
}

void BlockCounts::prefetch(std::span<const std::pair<Ino, const Attr*>> files) {
  std::vector<std::pair<Ino, const Attr*>> todo;
  std::vector<meta::Key> keys;
  for (auto& [ino, attr] : files) {
    uint64_t ignored;
    if (!asksSlices(*attr) || known(ino, *attr, &ignored)) continue;
    todo.emplace_back(ino, attr);
    if (attr->length <= kChunkSize) keys.push_back(meta::key::chunk(ino, 0));
  }
  if (todo.empty()) return;
  auto s = meta::withRead(store_, "blocks", [&](meta::MetaTxn& txn) -> Status {
    txn.prefetch(keys);
    for (auto& [ino, attr] : todo) {
      TRY_ASSIGN(auto blocks, count(txn, ino, *attr));
      remember(ino, *attr, blocks);
    }
    return {};
  });
  if (!s) return;   // of() will try again, and falls back to the length
}

Result<uint64_t> BlockCounts::count(meta::MetaTxn& txn, Ino ino, const Attr& attr) {
  uint64_t bytes = 0;
  if (attr.length <= kChunkSize) {
    TRY_ASSIGN(auto records, txn.find<meta::SliceList>(meta::key::chunk(ino, 0)));
    if (records) bytes = dataBytes(*records, attr.length);
  } else {
    size_t chunks = 0;
    uint64_t next = 0;   // file offset up to which chunks were counted
    meta::Range range;
    range.kind = meta::Kind::chunk;
    range.id = ino;
    range.limit = kMaxChunks;
    range.below = meta::chunksIn(attr.length);
    TRY(txn.list(range, [&](const meta::Key& key, const meta::Value& value) {
      uint64_t start = key.sub << kChunkBits;
      if (start >= attr.length) return false;
      next = start + kChunkSize;
      chunks++;
      if (auto* records = std::get_if<meta::SliceList>(&value)) bytes += dataBytes(*records, attr.length - start);
      return true;
    }));
    // Beyond the bound the file counts as full.
    if (chunks == kMaxChunks && next < attr.length) bytes += attr.length - next;
  }
  return (bytes + 511) / 512;
}

bool BlockCounts::known(Ino ino, const Attr& a, uint64_t* blocks) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  auto it = s.entries.find(ino);
  if (it == s.entries.end()) return false;
  auto& e = it->second;
  if (e.mtime != a.mtime || e.ctime != a.ctime || e.length != a.length) return false;
  *blocks = e.blocks;
  return true;
}

void BlockCounts::remember(Ino ino, const Attr& a, uint64_t blocks) {
  auto& s = shard(ino);
  std::lock_guard lock(s.mu);
  if (s.entries.size() >= kPerShard && !s.entries.count(ino)) s.entries.erase(s.entries.begin());
  s.entries[ino] = {a.mtime, a.ctime, a.length, blocks};
}

}  // namespace aquifer::vfs
