#include "cli/strict_exit.h"

#include <cstdlib>
#include <string_view>

namespace aquifer::cli {

bool strictExit() {
  const char* v = std::getenv("JFS_STRICT_EXIT");
  return v && *v && std::string_view(v) != "0" && std::string_view(v) != "false";
}
int softExit(bool failed) { return failed && strictExit() ? 1 : 0; }

}  // namespace aquifer::cli
