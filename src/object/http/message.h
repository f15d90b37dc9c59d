// HTTP/1.1 messages: the head of an answer, and what a request is made of. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace aquifer::object::http {

struct Header {
  std::string name, value;
};
using Headers = std::vector<Header>;

inline constexpr size_t kMaxHeadBytes = 64 * 1024;
inline constexpr size_t kMaxHeaders = 256;

struct Head {
  int status = 0;
  bool keepAlive = true;
  Headers headers;  // names in lower case
  // The value, or nothing.
  const std::string* header(std::string_view name) const;
};

// `text`: from the status line up to and with the empty line. Errors: io.
Result<Head> parseHead(std::string_view text);
// Decimal digits and nothing else.
std::optional<uint64_t> parseNumber(std::string_view text);
// The size in front of a chunk, with or without extensions behind it.
std::optional<uint64_t> parseChunkSize(std::string_view line);
// "Wed, 21 Oct 2015 07:28:00 GMT" as unix seconds; 0 if it is something else.
int64_t parseHttpDate(const std::string& text);
std::string lower(std::string_view text);

}  // namespace aquifer::object::http
