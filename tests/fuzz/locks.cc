// needs: base meta/model meta/ops/lock_ranges.cc
#include "tests/fuzz/check.h"

#include "meta/model/codec.h"
#include "meta/ops/lock_ranges.h"

using namespace aquifer;
using namespace aquifer::meta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto stored = decodeLockRanges(asText(data, size));
  if (!stored) return 0;
  FUZZ_CHECK(encodeLockRanges(*stored) == asText(data, size));
  // Whatever is stored, changing it one by one keeps an owner's ranges in order.
  std::vector<LockRange> own;
  for (const auto& r : *stored) {
    if (own.size() > 64) break;
    if (r.start <= r.end) own = applyRange(own, {r.type % 3, r.pid, r.start, r.end});
    for (size_t i = 1; i < own.size(); ++i) FUZZ_CHECK(own[i - 1].end < own[i].start);
  }
  (void)applyRange(*stored, {1, 1, 5, 10});
  (void)findConflict({{1, 1, *stored}}, 2, 1, {1, 0, 0, ~0ull});
  return 0;
}
