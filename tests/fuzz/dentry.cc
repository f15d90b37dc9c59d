// needs: base meta/model
#include "tests/fuzz/check.h"

#include "meta/model/codec.h"

using namespace aquifer;
using namespace aquifer::meta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto d = decodeDentry(asText(data, size))) FUZZ_CHECK(encodeDentry(*d) == asText(data, size));
  return 0;
}
