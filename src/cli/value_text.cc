// How values are shown.
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "cli/values.h"

namespace aquifer::cli {

namespace {
constexpr std::array<const char*, 7> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
}

std::string shortSize(uint64_t bytes) {
  if (bytes < 10) return fmt::format("{} B", bytes);
  auto exponent = static_cast<size_t>(std::floor(std::log(static_cast<double>(bytes)) / std::log(1024.0)));
  if (exponent >= kNames.size()) exponent = kNames.size() - 1;
  double v = std::floor(std::ldexp(static_cast<double>(bytes), -10 * static_cast<int>(exponent)) * 10 + 0.5) / 10;
  return v < 10 ? fmt::format("{:.1f} {}", v, kNames[exponent]) : fmt::format("{:.0f} {}", v, kNames[exponent]);
}

std::string longSize(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} Bytes", bytes);
  double v = static_cast<double>(bytes);
  size_t i = 0;
  while (v >= 1024 && i + 1 < kNames.size()) {
    v /= 1024;
    ++i;
  }
  return fmt::format("{:.2f} {} ({} Bytes)", v, kNames[i], bytes);
}

std::string withThousands(int64_t n) {
  auto digits = fmt::format("{}", n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), 1, ',');
  return n < 0 ? "-" + digits : digits;
}

std::string rateText(int64_t mbps) {
  static constexpr std::array<const char*, 4> kRates{"Mbps", "Gbps", "Tbps", "Pbps"};
  double v = static_cast<double>(mbps);
  size_t i = 0;
  while (v >= 1000 && i + 1 < kRates.size()) {
    v /= 1000;
    ++i;
  }
  return fmt::format("{:.1f} {}", v, kRates[i]);
}

std::string durationText(int64_t nanos) {
  if (nanos == 0) return "0s";
  std::string sign = nanos < 0 ? "-" : "";
  uint64_t n = nanos < 0 ? 0 - static_cast<uint64_t>(nanos) : static_cast<uint64_t>(nanos);
  auto fraction = [](uint64_t value, uint64_t unit, int digits) {
    auto text = fmt::format("{}.{:0{}}", value / unit, value % unit, digits);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
  };
  if (n < 1000) return fmt::format("{}{}ns", sign, n);
  if (n < 1000'000) return sign + fraction(n, 1000, 3) + "µs";
  if (n < 1000'000'000) return sign + fraction(n, 1000'000, 6) + "ms";
  uint64_t minutes = n / 60'000'000'000;
  auto seconds = fraction(n % 60'000'000'000, 1000'000'000, 9) + "s";
  if (minutes == 0) return sign + seconds;
  if (minutes < 60) return fmt::format("{}{}m{}", sign, minutes, seconds);
  return fmt::format("{}{}h{}m{}", sign, minutes / 60, minutes % 60, seconds);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += static_cast<char>(c);
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (c < 0x20 || c == 0x7f) out += fmt::format("\\x{:02x}", c);
    else out += static_cast<char>(c);
  }
  return out + "\"";
}

}  // namespace aquifer::cli
