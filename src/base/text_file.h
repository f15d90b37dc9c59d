// Small text files: of /proc, of /etc, of a user. Functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace aquifer {

// A whole file, cut after `limit` bytes. The code of a failure is its errno.
Result<std::string> readText(const std::string& path, size_t limit = SIZE_MAX);
// The same where a file that cannot be read is as good as an empty one.
std::string fileText(const std::string& path, size_t limit = SIZE_MAX);

}  // namespace aquifer
