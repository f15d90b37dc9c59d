// Small text files: of /proc, of /etc, of a mount. Functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace aquifer::cli {

// A whole file, cut after `limit` bytes. The code of a failure is its errno.
Result<std::string> readText(const std::string& path, size_t limit = SIZE_MAX);
// The same where a file that cannot be read is as good as an empty one.
std::string fileText(const std::string& path);
// A virtual file of the mount whose root is `root`, `.jfs.stats` or `.stats`; empty: it shows none. With the long names a short one
// may be a file of the user.
std::string virtualFile(const std::string& root, const std::string& name);

}  // namespace aquifer::cli
