#include "meta/model/json_text.h"

#include <algorithm>
#include <cctype>

namespace aquifer::meta {
namespace {

constexpr size_t kMaxBytes = 4 << 20;
constexpr int kMaxDepth = 64;

bool tooDeep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parseJsonObject(std::string_view text) {
  if (text.size() > kMaxBytes || tooDeep(text)) return Status(Code::corrupt, "JSON is too large or nested too deeply");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Status(Code::corrupt, "not a JSON object");
  return json;
}

std::string jsonText(const Json& json, int indent) {
  const std::string plain = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(plain.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else if (plain.compare(i, 3, "\xE2\x80\xA8") == 0)
      out += "\\u2028", i += 2;
    else if (plain.compare(i, 3, "\xE2\x80\xA9") == 0)
      out += "\\u2029", i += 2;
    else
      out.push_back(c);
  }
  return out;
}

bool sameKey(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace aquifer::meta
