// The value syntax of the command line: sizes, durations, rates, hours, octal modes (docs/formats/cli.md). Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace aquifer::cli {

// "1.5T", "512m", "100" -> bytes. A bare number is in `unit` (B K M G T P E, powers of 1024); "" is 0.
// Anything else: Code::config, the text ends in the reason.
Result<uint64_t> parseSize(std::string_view text, char unit, std::string_view optionName);

// "" -> 0, "30" and "0.5" -> seconds, "1d2h", "500ms", "1h30m". Nanoseconds. Code::config when it is none of these.
Result<int64_t> parseDuration(std::string_view text);
// The unit list alone ("2h", "1h30m", "0"), for flags that refuse a bare number.
Result<int64_t> parseUnitDuration(std::string_view text);

// "500", "500M", "1.5G", "2T", "1P" -> whole Mbps; decimal factors, a bare number is Mbps. "" is 0.
Result<int64_t> parseRate(std::string_view text, std::string_view optionName);

// "1,5" or "1-5" -> the half-open range of hours; "" -> {0, 0}, which means always.
Result<std::pair<int, int>> parseHours(std::string_view text);
Result<uint32_t> parseOctal(std::string_view text);

// Go's strconv: base 0 (0x, 0o, 0b, leading 0 = octal, '_' between digits when prefixed). false: not a number.
enum class NumberError { none, syntax, range };
NumberError parseInteger(std::string_view text, int64_t* out);
NumberError parseUnsigned(std::string_view text, uint64_t* out);
NumberError parseReal(std::string_view text, double* out);
// 1 t T true TRUE True, 0 f F false FALSE False.
bool parseBoolean(std::string_view text, bool* out);

// "0 B", "512 MiB", "1.0 GiB": one decimal below ten, none above.
std::string shortSize(uint64_t bytes);
// "N Bytes" below 1024, else "9.00 MiB (9437184 Bytes)".
std::string longSize(uint64_t bytes);
// "1,000,000".
std::string withThousands(int64_t n);
// "500.0 Mbps", "1.5 Gbps".
std::string rateText(int64_t mbps);
// A duration as Go prints it: "1h0m0s", "1.5s", "300ms".
std::string durationText(int64_t nanos);
// The text in double quotes with Go's %q escapes.
std::string quoted(std::string_view text);

}  // namespace aquifer::cli
