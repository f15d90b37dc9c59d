// Which inodes this process has open, and how often. Thread-safe.
// Directories that were removed for good while open leave their last attributes here, so that fstat, fchmod and futimens
// of the handle still work.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "meta/model/types.h"

namespace aquifer::meta {

class OpenFiles {
 public:
  void opened(Ino ino);
  bool closed(Ino ino);                 // true: that was the last one
  bool isOpen(Ino ino) const;
  void buried(Ino ino, const Attr& attr);           // a removed directory; kept only if it is open
  std::optional<Attr> tomb(Ino ino) const;
  bool changeTomb(Ino ino, const Attr& attr);
  // The unlinked inodes that this process keeps alive (recorded as sustained for its session).
  void sustain(Ino ino);
  bool isSustained(Ino ino) const;
  std::vector<Ino> allSustained() const;

 private:
  struct Open {
    uint32_t count = 0;
    bool sustained = false;
    std::optional<Attr> tomb;
  };
  static constexpr size_t kShards = 16;
  struct Shard {
    mutable std::mutex mu;
    std::unordered_map<Ino, Open> open;
  };
  Shard& shard(Ino ino) { return shards_[ino % kShards]; }
  const Shard& shard(Ino ino) const { return shards_[ino % kShards]; }
  std::array<Shard, kShards> shards_;
};

}  // namespace aquifer::meta
