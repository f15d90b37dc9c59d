// Bytes as text: hex, base64 (standard alphabet, padded), percent escapes, and addresses with their password hidden. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aquifer {
std::string hexEncode(std::string_view bytes);                // lower case
std::optional<std::string> hexDecode(std::string_view text);  // either case; nothing when damaged
int hexValue(char c);                                          // of one digit, either case; -1: it is none
// Everything but letters, digits and -._~ as %XX; `slash`: '/' stays.
std::string percentEncode(std::string_view text, bool slash = false);
// `plus`: '+' is a blank, as in forms. Nothing when a % is not followed by two hex digits.
std::optional<std::string> percentDecode(std::string_view text, bool plus = false);
std::string base64Encode(std::string_view bytes);
std::optional<std::string> base64Decode(std::string_view text);  // strict: no spaces, canonical padding
// What stands between the first ':' after "://" and the last '@' becomes "****". For logs, titles and messages.
std::string maskUrl(std::string_view url);
}  // namespace aquifer
