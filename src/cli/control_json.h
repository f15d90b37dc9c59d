// The JSON that mounts answer with, as structs. Damage or wrong types: Code::io.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace aquifer::cli {

struct InfoReply {
  uint64_t ino = 0;
  bool failed = false;
  std::string reason;
  uint64_t length = 0, size = 0, files = 0, dirs = 0;
  std::vector<std::string> paths;
  struct Chunk {
    uint64_t chunkIndex = 0, id = 0, size = 0, off = 0, len = 0;
  };
  std::vector<Chunk> chunks;
  struct Object {
    uint64_t chunkIndex = 0, size = 0, off = 0, len = 0;
    std::string key;
  };
  std::vector<Object> objects;
  struct Plock {
    uint64_t sid = 0, owner = 0, pid = 0, start = 0, end = 0;
    std::string type;
  };
  std::vector<Plock> plocks;
  struct Flock {
    uint64_t sid = 0, owner = 0;
    std::string type;
  };
  std::vector<Flock> flocks;
  int tierId = 0;
  std::string tierClass, restoreStatus;
  bool hasTier = false;
};
Result<InfoReply> parseInfoReply(const std::string& json);

struct SummaryNode {
  std::string path;
  bool directory = false;
  uint64_t size = 0, files = 0, dirs = 0;
  std::vector<SummaryNode> children;
};
struct SummaryReply {
  int errnum = 0;
  SummaryNode tree;
};
Result<SummaryReply> parseSummaryReply(const std::string& json);

struct CacheReply {
  uint64_t files = 0, slices = 0, totalBytes = 0, missBytes = 0;
  std::map<std::string, uint64_t> locations;
};
Result<CacheReply> parseCacheReply(const std::string& json);

}  // namespace aquifer::cli
