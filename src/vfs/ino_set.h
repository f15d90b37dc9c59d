// Inodes worth remembering for a while; forgets everything when it gets large. Thread-safe.
#pragma once

#include <mutex>
#include <unordered_set>

#include "meta/model/types.h"

namespace aquifer::vfs {

class InoSet {
 public:
  void add(meta::Ino ino) {
    std::lock_guard lock(mu_);
    if (set_.size() >= kMost) set_.clear();
    set_.insert(ino);
  }
  bool has(meta::Ino ino) const {
    std::lock_guard lock(mu_);
    return set_.count(ino) != 0;
  }

 private:
  static constexpr size_t kMost = 65536;
  mutable std::mutex mu_;
  std::unordered_set<meta::Ino> set_;
};

}  // namespace aquifer::vfs
