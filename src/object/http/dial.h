// A connected TCP socket, non-blocking. Every address of the name has its chance, the next one 300 ms after the one before.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace aquifer::object::http {
Result<int> dial(const std::string& host, uint16_t port, int64_t deadline);
}
