#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

namespace aquifer {

namespace {

// Polynomials are bit-reflected: the highest bit of a word is the coefficient of x^0.
constexpr uint32_t kPoly = 0x82f63b78;
constexpr uint32_t kOne = 0x80000000;

// a·b mod P
constexpr uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b & 1) ? (b >> 1) ^ kPoly : b >> 1;
  }
  return product;
}

// x^n mod P
constexpr uint32_t powerOfX(uint64_t n) {
  uint32_t result = kOne, square = kOne >> 1;
  for (; n != 0; n >>= 1) {
    if (n & 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// Table k advances a byte that stands k bytes before the end of an eight-byte group.
constexpr Tables makeTables() {
  Tables t{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = (c & 1) ? (c >> 1) ^ kPoly : c >> 1;
    t[0][i] = c;
  }
  for (size_t k = 1; k < 8; k++) {
    for (uint32_t i = 0; i < 256; i++) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  }
  return t;
}
constexpr Tables kTables = makeTables();

#if defined(__x86_64__)

uint64_t load64(const unsigned char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// The crc32 instruction has a latency of three cycles and a throughput of one, so three lanes run side by side and are
// joined afterwards: lane·x^(8·distance) is one carry-less product, whose reduction the crc32 instruction does. That
// reduction multiplies by x^33 on the way (32 from the instruction, 1 from the reflection), hence the exponents.
template <size_t kLane>
__attribute__((target("sse4.2,pclmul"))) uint64_t threeLanes(uint64_t crc, const unsigned char*& p, size_t& bytes) {
  static_assert(kLane % 8 == 0 && kLane >= 8);
  constexpr uint32_t kTwoLanes = powerOfX(8 * 2 * kLane - 33), kOneLane = powerOfX(8 * kLane - 33);
  while (bytes >= 3 * kLane) {
    uint64_t a = crc, b = 0, c = 0;
    for (const unsigned char* end = p + kLane; p < end; p += 8) {
      a = _mm_crc32_u64(a, load64(p));
      b = _mm_crc32_u64(b, load64(p + kLane));
      c = _mm_crc32_u64(c, load64(p + 2 * kLane));
    }
    const __m128i left =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(a)), _mm_cvtsi32_si128(static_cast<int>(kTwoLanes)), 0);
    const __m128i middle =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(b)), _mm_cvtsi32_si128(static_cast<int>(kOneLane)), 0);
    crc = _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_xor_si128(left, middle)))) ^ c;
    p += 2 * kLane;
    bytes -= 3 * kLane;
  }
  return crc;
}

__attribute__((target("sse4.2,pclmul"))) uint32_t crc32cHardware(const void* data, size_t bytes, uint32_t seed) {
  auto* p = static_cast<const unsigned char*>(data);
  uint64_t crc = static_cast<uint32_t>(~seed);
  crc = threeLanes<4096>(crc, p, bytes);
  crc = threeLanes<512>(crc, p, bytes);
  crc = threeLanes<64>(crc, p, bytes);
  for (; bytes >= 8; bytes -= 8, p += 8) crc = _mm_crc32_u64(crc, load64(p));
  auto c = static_cast<uint32_t>(crc);
  for (; bytes > 0; bytes--, p++) c = _mm_crc32_u8(c, *p);
  return ~c;
}

bool haveHardware() { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"); }

#endif

}  // namespace

uint32_t crc32cPortable(const void* data, size_t bytes, uint32_t seed) {
  auto* p = static_cast<const unsigned char*>(data);
  uint32_t crc = ~seed;
  if constexpr (std::endian::native == std::endian::little) {
    for (; bytes >= 8; bytes -= 8, p += 8) {
      uint32_t low, high;
      std::memcpy(&low, p, 4);
      std::memcpy(&high, p + 4, 4);
      low ^= crc;
      crc = kTables[7][low & 0xff] ^ kTables[6][low >> 8 & 0xff] ^ kTables[5][low >> 16 & 0xff] ^ kTables[4][low >> 24] ^
            kTables[3][high & 0xff] ^ kTables[2][high >> 8 & 0xff] ^ kTables[1][high >> 16 & 0xff] ^ kTables[0][high >> 24];
    }
  }
  for (; bytes > 0; bytes--, p++) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xff];
  return ~crc;
}

uint32_t crc32c(const void* data, size_t bytes, uint32_t seed) {
#if defined(__x86_64__)
  static const bool hardware = haveHardware();
  if (hardware) return crc32cHardware(data, bytes, seed);
#endif
  return crc32cPortable(data, bytes, seed);
}

uint32_t crc32cCombine(uint32_t a, uint32_t b, uint64_t bytesOfB) { return multiply(a, powerOfX(8 * bytesOfB)) ^ b; }

}  // namespace aquifer
