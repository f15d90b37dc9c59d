// Names of objects, cache files and staged files. What parses must be what the name was made of.
#include <string_view>

#include "chunk/block_store.h"

using namespace aquifer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view key(reinterpret_cast<const char*>(data), size);
  meta::SliceId id = 0;
  uint32_t index = 0, bytes = 0;
  if (!chunk::parseBlockKey(key, &id, &index, &bytes)) return 0;
  for (bool hashed : {false, true}) {
    meta::SliceId id2 = 0;
    uint32_t index2 = 0, bytes2 = 0;
    if (!chunk::parseBlockKey(chunk::blockKey(id, index, bytes, hashed), &id2, &index2, &bytes2)) __builtin_trap();
    if (id != id2 || index != index2 || bytes != bytes2) __builtin_trap();
  }
  return 0;
}
