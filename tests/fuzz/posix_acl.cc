// needs: base meta/model
#include "tests/fuzz/check.h"

#include "meta/model/codec.h"

using namespace aquifer;
using namespace aquifer::meta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto rule = decodePosixAcl(asText(data, size))) {
    const auto again = decodePosixAcl(encodePosixAcl(*rule));
    FUZZ_CHECK(again && *again == *rule);
  }
  return 0;
}
