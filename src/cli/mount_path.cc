#include "cli/mount_path.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "cli/errno_text.h"

namespace aquifer::cli {

std::string absolutePath(const std::string& path) {
  std::error_code failed;
  auto whole = std::filesystem::absolute(path.empty() ? "." : path, failed);
  auto clean = (failed ? std::filesystem::path(path) : whole).lexically_normal().string();
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  return clean;
}

Result<uint64_t> inodeOf(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return Status(Code(errno), fmt::format("stat {}: {}", path, errnoText(errno)));
  return static_cast<uint64_t>(st.st_ino);
}

std::string parentOf(const std::string& absolute) {
  auto slash = absolute.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : absolute.substr(0, slash);
}
std::string baseName(const std::string& absolute) { return absolute.substr(absolute.rfind('/') + 1); }

Result<std::string> mountRootOf(const std::string& path) {
  auto at = absolutePath(path);
  while (true) {
    struct stat st {};
    if (::stat(at.c_str(), &st) != 0) return Status(Code(errno), fmt::format("stat {}: {}", at, errnoText(errno)));
    if (st.st_ino == 1 && S_ISDIR(st.st_mode)) return at;
    if (at == "/") return Status(Code::invalid, fmt::format("{} is not inside JuiceFS", path));
    at = parentOf(at);
  }
}

std::string pathBelow(const std::string& root, const std::string& path) {
  if (path == root) return "/";
  return root == "/" ? path : path.substr(root.size());
}

}  // namespace aquifer::cli
