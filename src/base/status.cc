#include "base/status.h"

#include <cctype>
#include <cstring>

namespace aquifer {

int toErrno(Code code) {
  const int n = static_cast<int>(code);
  return n < 1000 ? n : EIO;
}

std::string_view codeText(Code code) {
  switch (code) {
    case Code::ok: return "OK";
    case Code::conflict: return "transaction conflict";
    case Code::maybeCommitted: return "commit with unknown outcome";
    case Code::unavailable: return "temporarily unavailable";
    case Code::corrupt: return "corrupt data";
    case Code::notFormatted: return "database is not formatted, please run `juicefs format ...` first";
    case Code::config: return "invalid configuration";
    case Code::io: return "input/output error";
    case Code::unsupported: return "operation not supported";
    case Code::noAttribute: return "no data available";
    default: break;
  }
  // glibc's texts, lower-cased at the first letter as access logs of this file system show them.
  thread_local std::string text;
  const char* raw = strerrordesc_np(static_cast<int>(code));
  text = raw ? raw : "unknown error";
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string Status::text() const { return message_ ? *message_ : std::string(codeText(code_)); }

Status Status::annotate(std::string_view context) const {
  if (isOk()) return {};
  return {code_, std::string(context) + ": " + text()};
}

}  // namespace aquifer
