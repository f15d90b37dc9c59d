// Who asks: the request's uid, gid and pid as the mount maps them, and the caller's supplementary groups where we check
// permissions. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "access/fuse/protocol.h"
#include "meta/ops/context.h"

namespace aquifer::fuse {

struct ServerConfig;

// Groups of processes out of /proc/<pid>/status, kept for 5 minutes and for at most 10,000 processes.
class GroupCache {
 public:
  std::vector<uint32_t> of(uint32_t pid);

 private:
  struct Known {
    std::vector<uint32_t> groups;
    int64_t until = 0;  // monotonic ns
  };
  std::mutex mu_;
  std::unordered_map<uint32_t, Known> known_;
};

class Identity {
 public:
  explicit Identity(const ServerConfig& config);
  meta::Context of(const InHeader& head);
  // Is the caller in the group, supplementary ones included, whoever checks permissions?
  bool inGroup(const meta::Context& ctx, uint32_t gid);

 private:
  const bool rootSquash_, allSquash_, checkPermission_;
  const uint32_t uid_, gid_, rootUid_, rootGid_;
  GroupCache groups_;
};

// The numbers of the `Groups:` line of a /proc/<pid>/status text; at most 65536.
std::vector<uint32_t> parseGroups(std::string_view status);

}  // namespace aquifer::fuse
