// Names, link targets and attribute values inside the JSON dump: what JSON or a reader could trip over is written as %XX.
// Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace aquifer::meta {

// Bytes that are not valid UTF-8, code points up to 32, `%`, `"` and `\`.
std::string escapeDump(std::string_view bytes);
// %XX back to bytes; a % that no two hex digits follow stays as it is.
std::string unescapeDump(std::string_view text);

}  // namespace aquifer::meta
