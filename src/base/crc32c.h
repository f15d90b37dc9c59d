// CRC-32C (Castagnoli), SSE4.2 when the CPU has it (chosen at run time), a table else. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aquifer {
uint32_t crc32c(const void* data, size_t bytes, uint32_t seed = 0);
}
