// What the program calls itself. The reported version is a 1.4 one, since volumes gate clients by it.
#pragma once

namespace aquifer {
inline constexpr const char* kVersion = "1.4.2+aquifer.0.1.0";
}
