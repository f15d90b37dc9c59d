#include "cli/values.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace aquifer::cli {

namespace {

constexpr std::string_view kUnits = "BKMGTPE";

// The length of the leading decimal number "12", "1.5", ".5"; 0 if there is none.
size_t numberLength(std::string_view text) {
  size_t i = 0;
  bool digit = false, dot = false;
  for (; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9') digit = true;
    else if (text[i] == '.' && !dot) dot = true;
    else break;
  }
  return digit ? i : 0;
}

double toDouble(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

Status invalidSize(std::string_view text, std::string_view option, std::string_view reason) {
  return {Code::config, fmt::format("Invalid value \"{}\" for \"{}\": {}", text, option, reason)};
}

// One "<number><unit>" off the front, as nanoseconds.
bool takeTerm(std::string_view& text, bool days, double* nanos) {
  auto n = numberLength(text);
  if (n == 0) return false;
  double value = toDouble(text.substr(0, n));
  text.remove_prefix(n);
  static constexpr std::array<std::pair<std::string_view, double>, 8> kTimeUnits{{{"ns", 1},
                                                                                  {"us", 1e3},
                                                                                  {"µs", 1e3},
                                                                                  {"ms", 1e6},
                                                                                  {"h", 3600e9},
                                                                                  {"m", 60e9},
                                                                                  {"s", 1e9},
                                                                                  {"d", 86400e9}}};
  for (auto& [name, scale] : kTimeUnits)
    if (text.starts_with(name) && (name != "d" || days)) {
      text.remove_prefix(name.size());
      *nanos = value * scale;
      return true;
    }
  return false;
}

Result<int64_t> unitList(std::string_view text, bool days) {
  auto whole = text;
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  Status bad(Code::config, fmt::format("invalid duration \"{}\"", whole));
  if (text == "0") return 0;
  if (text.empty()) return bad;
  double sum = 0;
  for (bool first = true; !text.empty(); first = false) {
    double term = 0;
    if (!takeTerm(text, days && first, &term)) return bad;
    sum += term;
  }
  if (sum >= 9.2e18) return bad;
  auto nanos = static_cast<int64_t>(std::llround(sum));
  return negative ? -nanos : nanos;
}

}  // namespace

Result<uint64_t> parseSize(std::string_view text, char unit, std::string_view option) {
  if (text.empty()) return 0;
  auto number = text;
  char letter = text.back();
  if (letter >= '0' && letter <= '9') {
    letter = unit;
  } else {
    number.remove_suffix(1);
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    if (kUnits.find(letter) == std::string_view::npos) return invalidSize(text, option, "invalid unit");
  }
  double value;
  if (parseReal(number, &value) != NumberError::none || !(value >= 0)) return invalidSize(text, option, "not a size; write a number and one of B, K, M, G, T, P, E");
  double bytes = std::ldexp(value, 10 * static_cast<int>(kUnits.find(letter)));
  if (!(bytes < 18446744073709551616.0)) return invalidSize(text, option, "too large");
  return static_cast<uint64_t>(bytes);
}

Result<int64_t> parseDuration(std::string_view text) {
  if (text.empty()) return 0;
  double seconds;
  if (parseReal(text, &seconds) == NumberError::none) {
    if (!(std::fabs(seconds) < 9.2e9)) return Status(Code::config, fmt::format("invalid duration \"{}\"", text));
    return static_cast<int64_t>(seconds * 1e9);
  }
  return unitList(text, true);
}

Result<int64_t> parseUnitDuration(std::string_view text) { return unitList(text, false); }

Result<int64_t> parseRate(std::string_view text, std::string_view option) {
  if (text.empty()) return 0;
  Status bad(Code::config, fmt::format("Invalid value \"{}\" for \"{}\"", text, option));
  auto number = text;
  double scale = 1;
  char letter = text.back();
  if (letter < '0' || letter > '9') {
    number.remove_suffix(1);
    if (letter == 'm' || letter == 'M') scale = 1;
    else if (letter == 'g' || letter == 'G') scale = 1e3;
    else if (letter == 't' || letter == 'T') scale = 1e6;
    else if (letter == 'p' || letter == 'P') scale = 1e9;
    else return bad;
  }
  double value;
  if (parseReal(number, &value) != NumberError::none || !(value >= 0) || !(value * scale < 9e15)) return bad;
  return static_cast<int64_t>(value * scale);
}

Result<std::pair<int, int>> parseHours(std::string_view text) {
  if (text.empty()) return std::pair<int, int>(0, 0);
  Status bad(Code::config, fmt::format("invalid value \"{}\" for upload-hours: write two hours between 0 and 23, as in 1,5", text));
  auto sep = text.find_first_of(",-");
  if (sep == std::string_view::npos) return bad;
  int64_t from, to;
  if (parseInteger(text.substr(0, sep), &from) != NumberError::none || parseInteger(text.substr(sep + 1), &to) != NumberError::none ||
      from < 0 || from > 23 || to < 0 || to > 23)
    return bad;
  return std::pair<int, int>(static_cast<int>(from), static_cast<int>(to));
}

Result<uint32_t> parseOctal(std::string_view text) {
  uint32_t v = 0;
  if (text.empty() || text.size() > 7) return Status(Code::config, fmt::format("\"{}\" is not an octal mode", text));
  for (char c : text) {
    if (c < '0' || c > '7') return Status(Code::config, fmt::format("\"{}\" is not an octal mode", text));
    v = v * 8 + static_cast<uint32_t>(c - '0');
  }
  return v;
}

NumberError parseUnsigned(std::string_view text, uint64_t* out) {
  int base = 10;
  bool prefixed = false;
  if (text.size() > 1 && text[0] == '0') {
    char c = static_cast<char>(text[1] | 0x20);
    prefixed = true;
    if (c == 'x') base = 16;
    else if (c == 'o') base = 8;
    else if (c == 'b') base = 2;
    else base = 8;
    text.remove_prefix(c == 'x' || c == 'o' || c == 'b' ? 2 : 1);
  }
  if (text.empty()) return NumberError::syntax;
  uint64_t v = 0;
  bool overflow = false;
  char previous = prefixed ? '0' : '_';
  for (char c : text) {
    if (c == '_') {
      if (!prefixed || previous == '_') return NumberError::syntax;
      previous = c;
      continue;
    }
    int digit = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 99;
    if (digit >= base) return NumberError::syntax;
    overflow |= __builtin_mul_overflow(v, static_cast<uint64_t>(base), &v);
    overflow |= __builtin_add_overflow(v, static_cast<uint64_t>(digit), &v);
    previous = c;
  }
  if (previous == '_') return NumberError::syntax;
  if (overflow) return NumberError::range;
  *out = v;
  return NumberError::none;
}

NumberError parseInteger(std::string_view text, int64_t* out) {
  bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  uint64_t u;
  if (auto e = parseUnsigned(text, &u); e != NumberError::none) return e;
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  if (u > kMax + (negative ? 1 : 0)) return NumberError::range;
  *out = negative ? static_cast<int64_t>(0 - u) : static_cast<int64_t>(u);
  return NumberError::none;
}

NumberError parseReal(std::string_view text, double* out) {
  std::string s(text);
  if (s.empty() || s[0] == ' ' || s[0] == '\t' || s[0] == '\n') return NumberError::syntax;
  char* end = nullptr;
  errno = 0;
  double v = std::strtod(s.c_str(), &end);
  if (end != s.c_str() + s.size()) return NumberError::syntax;
  if (errno == ERANGE && std::isinf(v)) return NumberError::range;
  *out = v;
  return NumberError::none;
}

bool parseBoolean(std::string_view text, bool* out) {
  for (auto yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return *out = true, true;
  for (auto no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return *out = false, true;
  return false;
}

}  // namespace aquifer::cli
