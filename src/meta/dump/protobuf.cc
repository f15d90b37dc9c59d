#include "meta/dump/protobuf.h"

namespace aquifer::meta {

bool PbReader::varint(uint64_t& v) {
  v = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    v |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return true;
  }
  ok_ = false;
  return false;
}

bool PbReader::next(PbField& field) {
  while (ok_ && !rest_.empty()) {
    uint64_t tag = 0;
    if (!varint(tag)) return false;
    field = PbField{.number = static_cast<uint32_t>(tag >> 3)};
    switch (tag & 7) {
      case 0: return varint(field.value);
      case 1:
      case 5: {
        const size_t width = (tag & 7) == 1 ? 8 : 4;
        if (rest_.size() < width) return ok_ = false;
        rest_.remove_prefix(width);
        continue;
      }
      case 2: {
        uint64_t n = 0;
        if (!varint(n)) return false;
        if (n > rest_.size()) return ok_ = false;
        field.bytes = rest_.substr(0, n);
        field.isBytes = true;
        rest_.remove_prefix(n);
        return true;
      }
      default: return ok_ = false;
    }
  }
  return false;
}

}  // namespace aquifer::meta
