// The metrics of cache and staging. References live as long as the process.
#pragma once

#include "base/metrics.h"

namespace aquifer::chunk {

struct CacheMetrics {
  metrics::Counter &blocks, &bytes, &hits, &miss, &hitBytes, &missBytes, &writes, &writeBytes, &drops, &evicts;
  metrics::Histogram &readSeconds, &writeSeconds;
  metrics::Counter &stagingBlocks, &stagingBytes, &stagingWriting, &stagingWriteBytes, &stagingDelay, &stagingErrors;
  static CacheMetrics& get();
};

}  // namespace aquifer::chunk
