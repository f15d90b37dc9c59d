// Environment variables as text.
#pragma once

#include <cstdlib>
#include <string>

namespace aquifer {

inline std::string environment(const char* name) {   // "" if it is not set
  const char* v = std::getenv(name);
  return v ? v : "";
}

}  // namespace aquifer
