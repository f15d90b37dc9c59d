// needs: base meta/model
#include "tests/fuzz/check.h"

#include "meta/model/format.h"

using namespace aquifer;
using namespace aquifer::meta;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto f = parseFormat(std::string(asText(data, size)));
  if (!f) return 0;
  const auto text = formatToJson(*f);
  const auto again = parseFormat(text);
  FUZZ_CHECK(again && formatToJson(*again) == text);
  (void)checkCompatible(*f, "1.4.2").isOk();
  (void)decryptSecrets(*f).isOk();
  return 0;
}
