#include "object/s3/listing.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/encode.h"
#include "object/http/message.h"
#include "object/s3/xml.h"

namespace aquifer::object::s3 {

namespace {

constexpr size_t kMaxMessage = 300;

std::string printable(std::string_view text) {
  std::string out(text.substr(0, kMaxMessage));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return out;
}

}  // namespace

int64_t parseIsoTime(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') return 0;
  static constexpr std::array<std::pair<size_t, size_t>, 6> kFields{{{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}}};
  std::array<int, 6> v{};
  for (size_t i = 0; i < v.size(); i++) {
    const auto number = http::parseNumber(text.substr(kFields[i].first, kFields[i].second));
    if (!number) return 0;
    v[i] = static_cast<int>(*number);
  }
  std::tm tm{};
  tm.tm_year = v[0] - 1900;
  tm.tm_mon = v[1] - 1;
  tm.tm_mday = v[2];
  tm.tm_hour = v[3];
  tm.tm_min = v[4];
  tm.tm_sec = v[5];
  return std::max<int64_t>(timegm(&tm), 0);
}

Result<ListPage> parseListPage(std::string_view xml) {
  TRY_ASSIGN(const XmlElement root, parseXml(xml));
  if (root.name != "ListBucketResult") return Status(Code::io, "the server's answer is no listing");
  // Blanks come as '+': the encoding is that of forms.
  const bool encoded = http::lower(root.textOf("EncodingType")) == "url";
  ListPage page{.truncated = root.textOf("IsTruncated") == "true", .token = std::string(root.textOf("NextContinuationToken"))};
  for (const auto& item : root.children) {
    if (item.name != "Contents") continue;
    ObjectInfo info;
    const std::string_view key = item.textOf("Key");
    auto decoded = encoded ? percentDecode(key, true) : std::optional<std::string>(key);
    const auto size = http::parseNumber(item.textOf("Size"));
    if (!decoded || decoded->empty() || !size) return Status(Code::io, "the server's listing has an object without a key or a size");
    info.key = *std::move(decoded);
    info.size = *size;
    info.mtime = parseIsoTime(item.textOf("LastModified"));
    info.isDir = info.size == 0 && info.key.back() == '/';
    info.storageClass = std::string(item.textOf("StorageClass"));
    page.objects.push_back(std::move(info));
  }
  return page;
}

ErrorAnswer parseError(std::string_view xml) {
  auto root = parseXml(xml);
  if (!root || root->name != "Error") return {};
  return {printable(root->textOf("Code")), printable(root->textOf("Message"))};
}

Code codeOf(int httpStatus, std::string_view errorCode) {
  static constexpr std::pair<std::string_view, Code> kCodes[] = {
      {"NoSuchKey", Code::notFound},
      {"NoSuchBucket", Code::config},
      {"NoSuchUpload", Code::notFound},
      {"AccessDenied", Code::accessDenied},
      {"SlowDown", Code::unavailable},
      {"SlowDownRead", Code::unavailable},
      {"SlowDownWrite", Code::unavailable},
      {"RequestTimeout", Code::unavailable},
      {"InternalError", Code::unavailable},
      {"ServiceUnavailable", Code::unavailable},
      {"OperationAborted", Code::unavailable},
      {"IncompleteBody", Code::unavailable},
      {"BadDigest", Code::unavailable},
      {"QuotaExceeded", Code::noSpace},
      {"XMinioStorageFull", Code::noSpace},
      {"XMinioObjectExistsAsDirectory", Code::isDirectory},
      {"EntityTooLarge", Code::fileTooBig},
      {"KeyTooLongError", Code::nameTooLong},
      {"NotImplemented", Code::unsupported},
      {"PermanentRedirect", Code::config},
      {"AuthorizationHeaderMalformed", Code::config},
      {"InvalidBucketName", Code::config},
  };
  for (const auto& [name, code] : kCodes)
    if (errorCode == name) return code;
  switch (httpStatus) {
    case 401:
    case 403: return Code::accessDenied;
    case 404:
    case 410: return Code::notFound;
    case 408:
    case 409:
    case 425:
    case 429: return Code::unavailable;
    case 501: return Code::unsupported;
    case 507: return Code::noSpace;
    default: return httpStatus >= 500 ? Code::unavailable : httpStatus / 100 == 3 ? Code::config : Code::io;
  }
}

}  // namespace aquifer::object::s3
