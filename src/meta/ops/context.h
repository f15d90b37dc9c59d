// Who asks. Plain value; built once per request at the edge.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace aquifer::meta {

struct Context {
  uint32_t uid = 0, gid = 0, pid = 0;
  std::vector<uint32_t> groups;        // supplementary groups; may be empty when checkPermission is false
  bool checkPermission = false;        // false: the kernel (default_permissions) or nobody has to check mode bits
  std::function<bool()> interrupted;   // asked at least every 100 ms by operations that wait; may be empty
  // Told, inside the transaction and before it commits, which inode unlink, rmdir and rename (the moved one) are about to act on:
  // what a restarted process needs to recognise its predecessor's work. May be called once per attempt, on any thread; may be empty.
  std::function<void(uint64_t)> intent;

  static Context root() { return {}; }
  bool isInterrupted() const { return interrupted && interrupted(); }
  bool inGroup(uint32_t g) const {
    if (g == gid) return true;
    for (auto x : groups)
      if (x == g) return true;
    return false;
  }
};

}  // namespace aquifer::meta
