// needs: base object/http/message.cc object/s3/bucket_region.cc object/s3/delete_many.cc object/s3/listing.cc object/s3/xml.cc object/s3/endpoint.cc object/s3/session.cc object/s3/sign.cc object/http/client.cc object/http/exchange.cc object/http/connection.cc object/http/dial.cc object/http/proxy.cc
// What a server of objects answers, and what a person writes as a bucket.
#include "tests/fuzz/check.h"

#include "base/encode.h"
#include "object/http/message.h"
#include "object/s3/bucket_region.h"
#include "object/s3/delete_many.h"
#include "object/s3/endpoint.h"
#include "object/s3/listing.h"
#include "object/s3/xml.h"

using namespace aquifer::object;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text = asText(data + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      if (const auto root = s3::parseXml(text)) {
        const auto again = s3::parseXml("<a>" + s3::xmlEscape(root->text) + "</a>");
        FUZZ_CHECK(again && again->text == root->text);
      }
      break;
    case 1:
      if (const auto page = s3::parseListPage(text))
        for (const auto& info : page->objects) FUZZ_CHECK(!info.key.empty());
      break;
    case 2:
      if (const auto head = http::parseHead(text)) FUZZ_CHECK(head->status >= 100 && head->status < 600 && head->headers.size() <= http::kMaxHeaders);
      break;
    case 3: FUZZ_CHECK(s3::parseError(text).message.size() <= 300); break;
    case 4:
      (void)s3::parseLocation(text).isOk();
      (void)s3::parseDeleteAnswer(text).isOk();
      break;
    default:
      for (const char* storage : {"s3", "minio", "oss", "cos", "bos"}) {
        const auto e = s3::parseEndpoint(storage, text, [](const char*) { return std::string(); });
        if (e) FUZZ_CHECK(!e->bucket.empty() && !e->origin.host.empty() && e->origin.host.find_first_of("\r\n /") == std::string::npos);
      }
      FUZZ_CHECK(aquifer::percentDecode(aquifer::percentEncode(text, false), true) == std::string(text));
  }
  return 0;
}
