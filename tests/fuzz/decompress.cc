// Compressed objects of a damaged or hostile bucket. Input: algorithm, u24 plain size, then the object.
#include <vector>

#include "chunk/compress.h"

using namespace aquifer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const auto how = static_cast<chunk::Compression>(data[0] % 3);
  const size_t plain = (size_t{data[1]} << 16 | size_t{data[2]} << 8 | data[3]) % (1u << 20);
  std::vector<std::byte> out(plain);
  (void)chunk::decompress(how, {reinterpret_cast<const std::byte*>(data + 4), size - 4}, out).isOk();
  return 0;
}
