// Random bytes from the kernel, fit for keys and nonces. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aquifer {
void randomBytes(void* out, size_t bytes);
uint64_t randomU64();
uint64_t randomBelow(uint64_t limit);  // 0 … limit-1, even; 0 for limit 0
std::string randomText(size_t length, std::string_view alphabet);
inline constexpr std::string_view kAlphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
}  // namespace aquifer
