// Directories that this client removed while somebody may still stand in them: fstat, fchmod, futimens on such a directory answer
// as on a local disk, from memory, until the kernel forgets the inode. Bounded. Thread-safe.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "meta/ops/meta.h"

namespace aquifer::vfs {

class Ghosts {
 public:
  void add(meta::Ino ino, meta::Attr attr);   // as it was; shown without links
  void drop(meta::Ino ino);
  std::optional<meta::Attr> find(meta::Ino ino) const;
  // Applies the change to the remembered attributes; nullopt if there is no such ghost.
  std::optional<meta::Attr> change(meta::Ino ino, const meta::SetAttr& set);

 private:
  static constexpr size_t kMax = 4096;
  std::atomic<size_t> count_{0};
  mutable std::mutex mu_;
  std::unordered_map<meta::Ino, meta::Attr> attrs_;
};

}  // namespace aquifer::vfs
