#include "base/uuid.h"

#include <cctype>

#include "base/encode.h"
#include "base/random.h"

namespace aquifer {

std::string randomUuid() {
  unsigned char raw[16];
  randomBytes(raw, sizeof raw);
  raw[6] = static_cast<unsigned char>((raw[6] & 0x0f) | 0x40);  // version 4
  raw[8] = static_cast<unsigned char>((raw[8] & 0x3f) | 0x80);  // variant of RFC 4122
  std::string text = hexEncode({reinterpret_cast<const char*>(raw), sizeof raw});
  for (size_t dash : {8, 13, 18, 23}) text.insert(dash, 1, '-');
  return text;
}

bool isUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); i++) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

}  // namespace aquifer
