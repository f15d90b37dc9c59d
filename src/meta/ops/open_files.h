// Which inodes this process has open, and how often. Thread-safe.
// Directories that were removed for good while open leave their last attributes here, so that fstat, fchmod and futimens
// of the handle still work.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "meta/model/types.h"

namespace aquifer::meta {

class OpenFiles {
 public:
  void opened(Ino ino);
  bool closed(Ino ino, bool* sustained);  // true: that was the last one; *sustained: it is to be deleted now (and forgotten here)
  bool isOpen(Ino ino) const;
  void buried(Ino ino, const Attr& attr);           // a removed directory; kept only if it is open
  std::optional<Attr> tomb(Ino ino) const;
  bool changeTomb(Ino ino, const Attr& attr);
  // The unlinked inodes that the session keeps alive while they are open.
  bool sustain(Ino ino);                  // false: not open any more, so nobody would delete it
  void inheritSustained(Ino ino);         // from a predecessor of this session; handles may be adopted later
  void revive(Ino ino);                   // it got a name again

 private:
  struct Open {
    uint32_t count = 0;
    std::optional<Attr> tomb;
  };
  static constexpr size_t kShards = 16;
  struct Shard {
    mutable std::mutex mu;
    std::unordered_map<Ino, Open> open;
    std::unordered_set<Ino> sustained;
  };
  Shard& shard(Ino ino) { return shards_[ino % kShards]; }
  const Shard& shard(Ino ino) const { return shards_[ino % kShards]; }
  std::array<Shard, kShards> shards_;
};

}  // namespace aquifer::meta
