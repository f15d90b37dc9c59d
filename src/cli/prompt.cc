#include "cli/prompt.h"

#include <fmt/core.h>

#include <cstdio>

namespace aquifer::cli {

void printWarning(const std::string& text) {
  std::fputs(fmt::format("\033[1;33mWARNING\033[0m: {}\n", text).c_str(), stdout);
  std::fflush(stdout);
}

bool confirm(bool yes) {
  if (yes) return true;
  std::fputs("Proceed anyway? [y/N]: ", stdout);
  std::fflush(stdout);
  std::string answer;
  for (int c = std::getchar(); c != EOF && c != '\n' && answer.size() < 16; c = std::getchar())
    if (c != ' ' && c != '\r') answer += static_cast<char>(c | 0x20);
  return answer == "y" || answer == "yes";
}

}  // namespace aquifer::cli
