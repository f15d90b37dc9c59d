// What the kernel was last told about a file, and what it looked like when it was last opened here. Answers, on open: may the
// kernel keep its pages, and has it to ask for attributes again? Bounded: forgetting costs a page cache, never correctness.
// Thread-safe.
#pragma once

#include <array>
#include <mutex>
#include <unordered_map>

#include "meta/model/types.h"

namespace aquifer::vfs {

class SeenAttrs {
 public:
  struct Verdict {
    bool keepPages = false;   // opened here before, mtime and length as then
    bool toldSame = false;    // the kernel's attributes are these
    bool sameSlices = false;  // ctime as well: slice lists read since then are still right
  };
  void told(meta::Ino ino, const meta::Attr& attr);
  Verdict opened(meta::Ino ino, const meta::Attr& attr);
  void forget(meta::Ino ino);

 private:
  struct Mark {
    meta::Time mtime, ctime;
    uint64_t length = 0;
    bool set = false;
  };
  struct Entry {
    Mark told, opened;
  };
  struct Shard {
    std::mutex mu;
    std::unordered_map<meta::Ino, Entry> entries;
  };
  Entry& entry(Shard& s, meta::Ino ino);
  static constexpr size_t kShards = 32, kPerShard = 2048;
  Shard& shard(meta::Ino ino) { return shards_[ino % kShards]; }
  std::array<Shard, kShards> shards_;
};

}  // namespace aquifer::vfs
