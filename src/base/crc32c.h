// CRC-32C (Castagnoli), SSE4.2 when the CPU has it (chosen at run time), a table else. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aquifer {
// `seed` is the checksum of the bytes before these.
uint32_t crc32c(const void* data, size_t bytes, uint32_t seed = 0);
// The checksum of A followed by B, from those of A and of B, and the length of B.
uint32_t crc32cCombine(uint32_t a, uint32_t b, uint64_t bytesOfB);
// The table-driven form, for CPUs without the instruction and to check the other against.
uint32_t crc32cPortable(const void* data, size_t bytes, uint32_t seed = 0);
}
