// The metadata of a volume on a Redis server (4.0 or newer), in exactly the keys that JuiceFS uses: both clients work on one
// volume at the same time. Not yet: Sentinel, Cluster, TLS.
#pragma once

#include <cstdint>

#include "meta/store/registry.h"

namespace aquifer::meta {

// The forms of the URL are in redis_url.h.
Result<std::unique_ptr<MetaStore>> openRedisStore(const std::string& rest, const StoreOptions& options);   // redis://
Result<std::unique_ptr<MetaStore>> openRedisSocket(const std::string& rest, const StoreOptions& options);  // unix://
Result<std::unique_ptr<MetaStore>> openRedisTls(const std::string& rest, const StoreOptions& options);  // rediss://: Code::config

// Round trips to Redis servers that the calling thread has made.
uint64_t redisRoundTrips();

}  // namespace aquifer::meta
