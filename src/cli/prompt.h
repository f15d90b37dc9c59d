// Questions to the person at the terminal. They go to stdout, as scripts that answer `yes |` expect.
#pragma once

#include <string>

namespace aquifer::cli {

void printWarning(const std::string& text);   // "WARNING: text", the label bold yellow
// `Proceed anyway? [y/N]: ` unless `yes`. End of input is a no.
bool confirm(bool yes);

}  // namespace aquifer::cli
