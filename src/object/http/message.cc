#include "object/http/message.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>

#include "base/text.h"

namespace aquifer::object::http {

namespace {

constexpr std::string_view kBlanks = " \t";

std::optional<uint64_t> parseBase(std::string_view text, int base) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return value;
}

// The next line without its end; nothing when there is none.
std::optional<std::string_view> takeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

const std::string* Head::header(std::string_view name) const {
  const auto it = std::find_if(headers.begin(), headers.end(), [&](const Header& h) { return h.name == name; });
  return it == headers.end() ? nullptr : &it->value;
}

Result<Head> parseHead(std::string_view text) {
  const Status bad(Code::io, "the server's answer is not HTTP");
  if (text.size() > kMaxHeadBytes) return bad;
  const auto first = takeLine(text);
  if (!first || !(first->starts_with("HTTP/1.1 ") || first->starts_with("HTTP/1.0 "))) return bad;
  const auto status = parseNumber(first->substr(9, 3));
  if (!status || *status < 100 || *status > 599 || (first->size() > 12 && (*first)[12] != ' ')) return bad;
  Head head{.status = static_cast<int>(*status), .keepAlive = (*first)[7] == '1'};
  for (;;) {
    const auto line = takeLine(text);
    if (!line) return bad;
    if (line->empty()) break;
    const size_t colon = line->find(':');
    if (colon == std::string_view::npos || colon == 0 || head.headers.size() >= kMaxHeaders) return bad;
    const std::string_view name = line->substr(0, colon);
    if (name.find_first_of(" \t") != std::string_view::npos) return bad;
    head.headers.push_back({lower(name), std::string(trimmed(line->substr(colon + 1), kBlanks))});
    if (head.headers.back().name != "connection") continue;
    const std::string value = lower(head.headers.back().value);
    if (value.find("close") != std::string::npos) head.keepAlive = false;
    else if (value.find("keep-alive") != std::string::npos) head.keepAlive = true;
  }
  return text.empty() ? Result<Head>(std::move(head)) : bad;
}

std::optional<uint64_t> parseNumber(std::string_view text) { return parseBase(text, 10); }

std::optional<uint64_t> parseChunkSize(std::string_view line) {
  return parseBase(trimmed(line.substr(0, std::min(line.find(';'), line.size())), kBlanks), 16);
}

int64_t parseHttpDate(const std::string& text) {
  static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  // Not by strptime, which knows the names of the locale.
  if (text.size() != 29 || text.substr(25) != " GMT" || text[7] != ' ' || text[11] != ' ') return 0;
  auto number = [&](size_t at, size_t size) { return parseNumber(std::string_view(text).substr(at, size)); };
  const auto day = number(5, 2), year = number(12, 4), hour = number(17, 2), minute = number(20, 2), second = number(23, 2);
  const size_t month = kMonths.find(text.substr(8, 3));
  if (!day || !year || !hour || !minute || !second || month == std::string_view::npos || month % 3 != 0) return 0;
  std::tm tm{};
  tm.tm_year = static_cast<int>(*year) - 1900;
  tm.tm_mon = static_cast<int>(month / 3);
  tm.tm_mday = static_cast<int>(*day);
  tm.tm_hour = static_cast<int>(*hour);
  tm.tm_min = static_cast<int>(*minute);
  tm.tm_sec = static_cast<int>(*second);
  return std::max<int64_t>(timegm(&tm), 0);
}

}  // namespace aquifer::object::http
