// needs: base meta/model
#include "tests/fuzz/check.h"

#include "meta/model/codec.h"

using namespace aquifer;
using namespace aquifer::meta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto rule = decodeAclRule(asText(data, size))) FUZZ_CHECK(encodeAclRule(*rule) == asText(data, size));
  if (const auto e = decodeAclEntries(asText(data, size))) FUZZ_CHECK(encodeAclEntries(*e) == asText(data, size));
  return 0;
}
