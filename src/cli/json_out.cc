#include "cli/json_out.h"

#include <fmt/core.h>

namespace aquifer::cli {

namespace {
// Length of the well-formed UTF-8 sequence at the front, 0 if there is none.
size_t utf8Length(std::string_view s) {
  auto b = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  auto tail = [&](size_t i) { return (b(i) & 0xC0) == 0x80; };
  unsigned c = b(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c < 0xE0) return tail(1) ? 2 : 0;
  if (c >= 0xE0 && c < 0xF0) {
    bool good = tail(1) && tail(2) && !(c == 0xE0 && b(1) < 0xA0) && !(c == 0xED && b(1) > 0x9F);
    return good ? 3 : 0;
  }
  if (c >= 0xF0 && c < 0xF5) {
    bool good = tail(1) && tail(2) && tail(3) && !(c == 0xF0 && b(1) < 0x90) && !(c == 0xF4 && b(1) > 0x8F);
    return good ? 4 : 0;
  }
  return 0;
}
}  // namespace

std::string jsonQuote(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    auto c = static_cast<unsigned char>(s[0]);
    size_t n = utf8Length(s);
    if (n == 0) out += "\\ufffd", n = 1;
    else if (c == '"' || c == '\\') out += '\\', out += s[0];
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (c < 0x20 || c == '<' || c == '>' || c == '&') out += fmt::format("\\u{:04x}", c);
    else if (s.starts_with("\u2028")) out += "\\u2028";
    else if (s.starts_with("\u2029")) out += "\\u2029";
    else out += s.substr(0, n);
    s.remove_prefix(n);
  }
  return out + "\"";
}

std::string indentJson(std::string_view json) {
  std::string out;
  for (char c : json) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

std::string JsonArray::text() const {
  if (items_.empty()) return "[]";
  std::string out = "[";
  for (size_t i = 0; i < items_.size(); ++i) out += (i ? ",\n  " : "\n  ") + indentJson(items_[i]);
  return out + "\n]";
}

std::string JsonObject::text() const {
  if (items_.empty()) return "{}";
  std::string out = "{";
  for (size_t i = 0; i < items_.size(); ++i)
    out += (i ? ",\n  " : "\n  ") + jsonQuote(items_[i].first) + ": " + indentJson(items_[i].second);
  return out + "\n}";
}

}  // namespace aquifer::cli
