// JSON helpers for the two JSON documents of the metadata (setting, session info). Included by few .cc files only: the
// library behind it is heavy. Pure functions, thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::meta {

using Json = nlohmann::ordered_json;

// An object, or Code::corrupt. Bounded in size and depth: printing a document recurses.
Result<Json> parseJsonObject(std::string_view text);
// As the Go client prints: `<`, `>`, `&` and the two line separators of Unicode escaped, bytes that are not UTF-8 replaced.
std::string jsonText(const Json& json, int indent);
bool sameKey(std::string_view a, std::string_view b);  // ASCII case does not count

}  // namespace aquifer::meta
