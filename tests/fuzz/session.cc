// needs: base meta/model
#include "tests/fuzz/check.h"

#include "meta/model/codec.h"

using namespace aquifer;
using namespace aquifer::meta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (const auto info = decodeSessionInfo(asText(data, size))) {
    const auto text = encodeSessionInfo(*info);
    const auto again = decodeSessionInfo(text);
    FUZZ_CHECK(again && encodeSessionInfo(*again) == text);
  }
  FUZZ_CHECK(escapeLog(asText(data, size)).size() <= 3 * size);
  return 0;
}
