#include "chunk/cache/cache_metrics.h"

namespace aquifer::chunk {

CacheMetrics& CacheMetrics::get() {
  using metrics::counter, metrics::gauge, metrics::histogram, metrics::exponentialBuckets;
  static CacheMetrics m{
      gauge("blockcache_blocks", "number of cached blocks"),
      gauge("blockcache_bytes", "bytes of cached blocks"),
      counter("blockcache_hits", "block pieces read from the cache"),
      counter("blockcache_miss", "block pieces not found in the cache"),
      counter("blockcache_hit_bytes", "bytes read from the cache"),
      counter("blockcache_miss_bytes", "bytes not found in the cache"),
      counter("blockcache_writes", "blocks written to the cache"),
      counter("blockcache_write_bytes", "bytes written to the cache"),
      counter("blockcache_drops", "blocks not cached because the cache was busy or full"),
      counter("blockcache_evicts", "blocks evicted"),
      histogram("blockcache_read_hist_seconds", "time of reads from the cache", exponentialBuckets(0.00001, 2, 20)),
      histogram("blockcache_write_hist_seconds", "time of writes to the cache", exponentialBuckets(0.00001, 2, 20)),
      gauge("staging_blocks", "blocks waiting for upload"),
      gauge("staging_block_bytes", "bytes waiting for upload"),
      gauge("staging_writing_blocks", "blocks being staged"),
      counter("staging_write_bytes", "bytes staged"),
      counter("staging_block_delay_seconds", "time that staged blocks waited, in total"),
      counter("staging_block_errors", "failed stage writes"),
  };
  return m;
}

}  // namespace aquifer::chunk
