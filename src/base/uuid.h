// Random identifiers as text: 8-4-4-4-12 lower-case hex digits, version 4. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace aquifer {
std::string randomUuid();
bool isUuid(std::string_view text);  // the shape, any version
}  // namespace aquifer
