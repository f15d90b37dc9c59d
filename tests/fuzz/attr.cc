// needs: base meta/model
#include "tests/fuzz/check.h"

#include "meta/model/codec.h"

using namespace aquifer;
using namespace aquifer::meta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto a = decodeAttr(asText(data, size))) {
    FUZZ_CHECK(a->mode <= 07777 && a->atime.nsec < 1'000'000'000);
    const auto again = decodeAttr(encodeAttr(*a));
    FUZZ_CHECK(again && *again == *a);
  }
  return 0;
}
