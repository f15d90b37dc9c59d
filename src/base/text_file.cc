#include "base/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace aquifer {

Result<std::string> readText(const std::string& path, size_t limit) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status(Code(errno), "open " + path + ": " + std::string(codeText(Code(errno))));
  std::string text;
  char buffer[65536];
  ssize_t n = 0;
  while (text.size() < limit && (n = ::read(fd, buffer, sizeof buffer)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  int error = n < 0 ? errno : 0;
  ::close(fd);
  if (error) return Status(Code(error), "read " + path + ": " + std::string(codeText(Code(error))));
  if (text.size() > limit) text.resize(limit);
  return text;
}

std::string fileText(const std::string& path, size_t limit) {
  auto text = readText(path, limit);
  return text ? *std::move(text) : std::string();
}

}  // namespace aquifer
