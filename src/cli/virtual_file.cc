#include "cli/virtual_file.h"

#include <sys/stat.h>

namespace aquifer::cli {

std::string virtualFile(const std::string& root, const std::string& name) {
  for (const char* prefix : {"/.jfs.", "/."}) {
    auto path = root + prefix + name;
    struct stat st;
    if (::stat(path.c_str(), &st) == 0) return path;
  }
  return {};
}

}  // namespace aquifer::cli
