// AWS signature version 4 (docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html). Pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "object/http/message.h"

namespace aquifer::object::s3 {

inline constexpr const char* kUnsignedPayload = "UNSIGNED-PAYLOAD";

struct Credentials {
  std::string accessKey, secretKey, sessionToken;
  bool anonymous = false;  // requests go unsigned
};

using Query = std::vector<std::pair<std::string, std::string>>;  // not encoded

// Sorted and encoded, as in a URL and in what is signed.
std::string encodeQuery(Query query);

struct SigningInput {
  std::string_view method, path, query;  // encoded
  http::Headers headers;                 // all that are signed, Host included; names in any case
  std::string_view payloadHash;
  std::string_view region, service;
  int64_t unixTime = 0;
};

// "20130524T000000Z"
std::string amzDate(int64_t unixTime);
// The value of the Authorization header.
std::string authorization(const SigningInput& input, const Credentials& credentials);
// Adds what S3 wants to see: x-amz-date, x-amz-content-sha256, x-amz-security-token and Authorization. `headers` has what else
// is to be signed, without Host.
void signS3(std::string_view method, std::string_view host, std::string_view path, std::string_view query, std::string_view region,
            const Credentials& credentials, int64_t unixTime, http::Headers* headers);

}  // namespace aquifer::object::s3
