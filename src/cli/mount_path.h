// Paths of a mounted volume seen from outside. Functions without state.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace aquifer::cli {

std::string absolutePath(const std::string& path);   // cleaned, symbolic links left alone
Result<uint64_t> inodeOf(const std::string& path);   // follows links; "stat X: no such file or directory"
// The nearest directory at or above `path` whose inode is 1: the mount's root. Code::invalid: `path` lies in no such mount.
Result<std::string> mountRootOf(const std::string& path);
// "/a/b" for root "/mnt" and path "/mnt/a/b"; "/" for the root itself. The path must lie below the root.
std::string pathBelow(const std::string& root, const std::string& path);
// "dir/name" -> "dir", "name" of an absolute path.
std::string parentOf(const std::string& absolute);
std::string baseName(const std::string& absolute);

}  // namespace aquifer::cli
