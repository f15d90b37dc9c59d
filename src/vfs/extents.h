// Where a file has data and where it has holes, from its stored slices: SEEK_DATA, SEEK_HOLE, and block counts. Thread-safe.
#pragma once

#include <array>
#include <list>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "meta/ops/meta.h"

namespace aquifer::vfs {

using meta::Attr;
using meta::Ino;

// Bytes of a chunk that slices (not holes) cover, counted up to `limit` of the chunk.
uint64_t dataBytes(const std::vector<meta::Slice>& records, uint64_t limit);
// First position >= from that is data (or, for hole, is not) within [from, limit); `limit` if there is none.
uint64_t nextInChunk(const std::vector<meta::Slice>& records, uint64_t from, uint64_t limit, bool wantData);

// lseek over the stored chunks of a file of `length` bytes; one ordered listing, so a vast hole costs nothing.
// Code::noSuchAddress past the end, or when no data follows. The end of the file is a hole.
Result<uint64_t> seekExtent(meta::MetaStore& store, Ino ino, uint64_t length, uint64_t off, bool wantData);

// st_blocks (512 bytes) of files, remembered until mtime, ctime or length change. Small files count by their length: reading
// slices for each of them would double the cost of a listing and say nothing.
class BlockCounts {
 public:
  explicit BlockCounts(meta::MetaStore& store) : store_(store) {}
  // settled: nothing of the file is waiting to be committed, so the answer may be remembered.
  uint64_t of(Ino ino, const Attr& attr, bool settled = true);
  // Brings in the counts of many files with one read transaction (a page of a listing).
  void prefetch(std::span<const std::pair<Ino, const Attr*>> files);

 private:
  struct Entry {
    meta::Time mtime, ctime;
    uint64_t length = 0, blocks = 0;
  };
  struct Shard {
    std::mutex mu;
    std::unordered_map<Ino, Entry> entries;
  };
  static constexpr uint64_t kSmall = 64 << 10;
  static constexpr size_t kShards = 16, kPerShard = 4096, kMaxChunks = 4096;
  static bool asksSlices(const Attr& a) { return a.type == meta::FileType::regular && a.length > kSmall; }
  bool known(Ino ino, const Attr& attr, uint64_t* blocks);
  void remember(Ino ino, const Attr& attr, uint64_t blocks);
  static Result<uint64_t> count(meta::MetaTxn& txn, Ino ino, const Attr& attr);
  Shard& shard(Ino ino) { return shards_[ino % kShards]; }
  meta::MetaStore& store_;
  std::array<Shard, kShards> shards_;
};

}  // namespace aquifer::vfs
