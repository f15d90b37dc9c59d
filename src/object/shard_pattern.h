// Buckets of a sharded volume: one pattern with a %d for the number of the shard. No locks, no I/O.
#pragma once

#include <string>

#include "base/status.h"

namespace aquifer::object {

inline constexpr int kMaxShards = 256;

// "/data/s%d/" and 3: "/data/s3/". Understands %d, %3d, %03d and %%. Not exactly one number, or another conversion: Code::config.
Result<std::string> shardBucket(const std::string& pattern, int shard);

}  // namespace aquifer::object
