// Answers of S3: pages of a listing, errors. Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "object/object_store.h"

namespace aquifer::object::s3 {

struct ListPage {
  std::vector<ObjectInfo> objects;
  bool truncated = false;
  std::string token;  // NextContinuationToken; empty in answers of version 1
};

// A ListBucketResult of either version. Errors: io.
Result<ListPage> parseListPage(std::string_view xml);

// The Code and Message of an <Error>, bounded; empty where there is none.
struct ErrorAnswer {
  std::string code, message;
};
ErrorAnswer parseError(std::string_view xml);
// What an answer other than success means.
Code codeOf(int httpStatus, std::string_view errorCode);
// "2009-10-12T17:50:30.000Z" as unix seconds; 0 if it is something else.
int64_t parseIsoTime(std::string_view text);

}  // namespace aquifer::object::s3
