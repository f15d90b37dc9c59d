// needs: base meta/model
#include "tests/fuzz/check.h"

#include "meta/model/codec.h"
#include "meta/model/slices.h"

using namespace aquifer;
using namespace aquifer::meta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto records = decodeSlices(asText(data, size));
  if (!records) return 0;
  FUZZ_CHECK(encodeSlices(*records) == asText(data, size));
  uint64_t pos = 0, end = 0;
  for (const auto& s : *records)
    if (s.len) end = end < s.pos + uint64_t{s.len} ? s.pos + uint64_t{s.len} : end;
  for (const auto& s : paint(*records)) {
    FUZZ_CHECK(s.pos == pos && s.len > 0);
    FUZZ_CHECK(s.id == 0 || uint64_t{s.off} + s.len <= s.size);
    pos += s.len;
  }
  FUZZ_CHECK(pos == end);
  const auto plan = planCompaction(*records);
  FUZZ_CHECK(plan.skipped <= records->size());
  uint64_t sum = 0;
  for (const auto& s : plan.pieces) sum += s.len;
  FUZZ_CHECK(sum == plan.size && plan.pos + sum <= kChunkSize);
  return 0;
}
