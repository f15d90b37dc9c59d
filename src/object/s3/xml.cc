#include "object/s3/xml.h"

#include <charconv>
#include <cstdint>

namespace aquifer::object::s3 {

namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool isNameChar(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

void appendUtf8(uint32_t c, std::string* out) {
  auto tail = [&](int shift) { *out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    *out += static_cast<char>(c);
  } else if (c < 0x800) {
    *out += static_cast<char>(0xC0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    *out += static_cast<char>(0xE0 | (c >> 12));
    tail(6);
    tail(0);
  } else {
    *out += static_cast<char>(0xF0 | (c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// What stands between '&' and ';'.
bool appendEntity(std::string_view name, std::string* out) {
  static constexpr std::pair<std::string_view, char> kNamed[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, c] : kNamed) {
    if (name == known) {
      *out += c;
      return true;
    }
  }
  if (name.size() < 2 || name[0] != '#') return false;
  const bool hex = name[1] == 'x';
  const std::string_view digits = name.substr(hex ? 2 : 1);
  uint32_t c = 0;
  const auto [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c, hex ? 16 : 10);
  if (digits.empty() || error != std::errc() || at != digits.data() + digits.size()) return false;
  if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return false;
  appendUtf8(c, out);
  return true;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<XmlElement> document() {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    XmlElement root;
    if (!between() || !take("<") || !element(&root, 0) || !between() || !rest_.empty())
      return Status(Code::io, "the server's answer is not XML as expected");
    return root;
  }

 private:
  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  bool skipPast(std::string_view what) {
    const size_t at = rest_.find(what);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + what.size());
    return true;
  }
  void spaces() {
    while (!rest_.empty() && isSpace(rest_.front())) rest_.remove_prefix(1);
  }
  // Blanks, comments and instructions around the root.
  bool between() {
    for (;;) {
      spaces();
      if (take("<?")) {
        if (!skipPast("?>")) return false;
      } else if (take("<!--")) {
        if (!skipPast("-->")) return false;
      } else {
        return true;
      }
    }
  }
  std::string_view name() {
    size_t size = 0;
    while (size < rest_.size() && isNameChar(rest_[size])) size++;
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  bool attributes() {
    for (;;) {
      spaces();
      if (rest_.empty()) return false;
      if (rest_.front() == '>' || rest_.front() == '/') return true;
      if (name().empty()) return false;
      spaces();
      if (!take("=")) return false;
      spaces();
      if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'')) return false;
      const std::string quote(1, rest_.front());
      rest_.remove_prefix(1);
      if (!skipPast(quote)) return false;
    }
  }

  // Behind the '<' of a start tag.
  bool element(XmlElement* out, int depth) {
    if (depth >= kMaxXmlDepth || ++elements_ > kMaxXmlElements) return false;
    const std::string_view full = name();
    if (full.empty() || !attributes()) return false;
    out->name = std::string(full.substr(full.rfind(':') + 1));
    if (take("/>")) return true;
    return take(">") && content(full, out, depth);
  }

  bool content(std::string_view full, XmlElement* out, int depth) {
    for (;;) {
      const size_t next = rest_.find_first_of("<&");
      if (next == std::string_view::npos) return false;
      out->text += rest_.substr(0, next);
      rest_.remove_prefix(next);
      if (take("&")) {
        const size_t end = rest_.substr(0, 12).find(';');
        if (end == std::string_view::npos || !appendEntity(rest_.substr(0, end), &out->text)) return false;
        rest_.remove_prefix(end + 1);
      } else if (take("</")) {
        if (name() != full) return false;
        spaces();
        return take(">");
      } else if (take("<!--")) {
        if (!skipPast("-->")) return false;
      } else if (take("<![CDATA[")) {
        const size_t end = rest_.find("]]>");
        if (end == std::string_view::npos) return false;
        out->text += rest_.substr(0, end);
        rest_.remove_prefix(end + 3);
      } else if (take("<?")) {
        if (!skipPast("?>")) return false;
      } else {
        rest_.remove_prefix(1);
        out->children.emplace_back();
        if (!element(&out->children.back(), depth + 1)) return false;
      }
    }
  }

  std::string_view rest_;
  size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view name) const {
  for (const auto& c : children)
    if (c.name == name) return &c;
  return nullptr;
}

std::string_view XmlElement::textOf(std::string_view name) const {
  const XmlElement* c = child(name);
  return c ? std::string_view(c->text) : std::string_view();
}

Result<XmlElement> parseXml(std::string_view text) { return Parser(text).document(); }

std::string xmlEscape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\r': out += "&#13;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace aquifer::object::s3
