// The little of protocol buffers that the binary backup needs: varints and length-delimited fields. Readers never pass their end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aquifer::meta {

class PbWriter {
 public:
  // proto3: a field that is zero or empty is left out.
  PbWriter& number(uint32_t field, uint64_t value) {
    if (value == 0) return *this;
    varint(uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  PbWriter& bytes(uint32_t field, std::string_view value) { return value.empty() ? *this : message(field, value); }
  // Embedded messages stand even when they are empty.
  PbWriter& message(uint32_t field, std::string_view value) {
    varint(uint64_t{field} << 3 | 2);
    varint(value.size());
    out_ += value;
    return *this;
  }
  PbWriter& varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) out_ += static_cast<char>(v | 0x80);
    out_ += static_cast<char>(v);
    return *this;
  }
  const std::string& text() const { return out_; }

 private:
  std::string out_;
};

struct PbField {
  uint32_t number = 0;
  uint64_t value = 0;        // of a varint
  std::string_view bytes;    // of a length-delimited field
  bool isBytes = false;
};

class PbReader {
 public:
  explicit PbReader(std::string_view bytes) : rest_(bytes) {}
  // The next field; false at the end or on damage (then !ok()). Fixed-width fields are passed over.
  bool next(PbField& field);
  bool ok() const { return ok_; }
  bool varint(uint64_t& v);      // for packed lists
  bool atEnd() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace aquifer::meta
