// Error numbers as these tools print them: "no such file or directory", in lower case.
#pragma once

#include <string>

namespace aquifer::cli {
std::string errnoText(int errnum);
}
