#include "cli/errno_text.h"

#include <cctype>
#include <cstring>

namespace aquifer::cli {

std::string errnoText(int errnum) {
  std::string text = std::strerror(errnum);
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) text[0] = static_cast<char>(std::tolower(text[0]));
  return text;
}

}  // namespace aquifer::cli
