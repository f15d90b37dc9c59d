// Fixed-width integers in byte strings, big- and little-endian, with checked reads. No locks, no I/O.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace aquifer {

template <class T>
constexpr T byteSwap(T v) {
  static_assert(std::is_integral_v<T>);
  using U = std::make_unsigned_t<T>;
  U u = static_cast<U>(v);
  if constexpr (sizeof(T) == 1) return v;
  else if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(u));
  else if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(u));
  else return static_cast<T>(__builtin_bswap64(u));
}
template <class T>
constexpr T toBig(T v) {
  return std::endian::native == std::endian::little ? byteSwap(v) : v;
}
template <class T>
constexpr T toLittle(T v) {
  return std::endian::native == std::endian::little ? v : byteSwap(v);
}

// Unchecked loads and stores at `p`; the caller owns the bounds.
template <class T>
T loadBig(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return toBig(v);
}
template <class T>
void storeBig(void* p, T v) {
  v = toBig(v);
  std::memcpy(p, &v, sizeof v);
}
template <class T>
void appendBig(std::string& out, T v) {
  v = toBig(v);
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}
template <class T>
void appendLittle(std::string& out, T v) {
  v = toLittle(v);
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

// Reads integers off the front of untrusted bytes. After a read past the end, ok() is false for good and reads give 0.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T big() {
    T v = raw<T>();
    return toBig(v);
  }
  template <class T>
  T little() {
    T v = raw<T>();
    return toLittle(v);
  }
  std::string_view take(size_t n) {
    if (n > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    auto out = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return out;
  }
  size_t left() const { return bytes_.size(); }
  bool ok() const { return ok_; }

 private:
  template <class T>
  T raw() {
    T v{};
    auto b = take(sizeof(T));
    if (b.size() == sizeof(T)) std::memcpy(&v, b.data(), sizeof v);
    return v;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace aquifer
