// The virtual files of a mount: .stats, .config … Functions without state.
#pragma once

#include <string>

namespace aquifer::cli {

// Of the mount whose root is `root`: `.jfs.stats` or `.stats`; empty: it shows none. With the long names a short one may be a file of
// the user.
std::string virtualFile(const std::string& root, const std::string& name);

}  // namespace aquifer::cli
