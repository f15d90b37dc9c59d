// Bytes as text: hex, base64 (standard alphabet, padded), and addresses with their password hidden. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aquifer {
std::string hexEncode(std::string_view bytes);                // lower case
std::optional<std::string> hexDecode(std::string_view text);  // either case; nothing when damaged
std::string base64Encode(std::string_view bytes);
std::optional<std::string> base64Decode(std::string_view text);  // strict: no spaces, canonical padding
// What stands between the first ':' after "://" and the last '@' becomes "****". For logs, titles and messages.
std::string maskUrl(std::string_view url);
}  // namespace aquifer
