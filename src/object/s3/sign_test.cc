// The published examples: of the signature's test suite (service "service"), and of the S3 manual.
#include "base/encode.h"
#include "object/s3/sign.h"

#include <gtest/gtest.h>

namespace aquifer::object::s3 {
namespace {

constexpr const char* kEmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string signatureOf(const std::string& authorization) {
  const size_t at = authorization.find("Signature=");
  return at == std::string::npos ? "" : authorization.substr(at + 10);
}

class Suite : public testing::Test {
 protected:
  std::string sign(std::string_view method, std::string_view path, std::string_view query, http::Headers headers = {}) {
    headers.push_back({"Host", "example.amazonaws.com"});
    headers.push_back({"X-Amz-Date", "20150830T123600Z"});
    return signatureOf(authorization({method, path, query, headers, kEmptyHash, "us-east-1", "service", 1440938160},
                                     {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", false}));
  }
};

TEST_F(Suite, GetVanilla) {
  EXPECT_EQ(sign("GET", "/", ""), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}
TEST_F(Suite, PostVanilla) {
  EXPECT_EQ(sign("POST", "/", ""), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}
TEST_F(Suite, QueryIsSorted) {
  EXPECT_EQ(sign("GET", "/", encodeQuery({{"Param2", "value2"}, {"Param1", "value1"}})),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}
TEST_F(Suite, BlanksOfValuesAreFolded) {
  EXPECT_EQ(sign("GET", "/", "", {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}}),
            sign("GET", "/", "", {{"my-header2", "\"a b c\""}, {"my-header1", "value1"}}));
}

class Manual : public testing::Test {
 protected:
  const Credentials keys_{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", false};
  std::string sign(std::string_view method, std::string_view path, std::string_view query, http::Headers headers, const char* hash) {
    headers.push_back({"Host", "examplebucket.s3.amazonaws.com"});
    headers.push_back({"x-amz-date", "20130524T000000Z"});
    headers.push_back({"x-amz-content-sha256", hash});
    return authorization({method, path, query, headers, hash, "us-east-1", "s3", 1369353600}, keys_);
  }
};

TEST_F(Manual, GetOfARange) {
  EXPECT_EQ(sign("GET", "/test.txt", "", {{"Range", "bytes=0-9"}}, kEmptyHash),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}
TEST_F(Manual, Put) {
  EXPECT_EQ(signatureOf(sign("PUT", "/" + percentEncode("test$file.text", true), "",
                             {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                             "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}
TEST_F(Manual, ParameterWithoutValue) {
  EXPECT_EQ(signatureOf(sign("GET", "/", encodeQuery({{"lifecycle", ""}}), {}, kEmptyHash)),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}
TEST_F(Manual, List) {
  EXPECT_EQ(signatureOf(sign("GET", "/", encodeQuery({{"prefix", "J"}, {"max-keys", "2"}}), {}, kEmptyHash)),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Sign, DatesAreUtc) { EXPECT_EQ(amzDate(1369353600), "20130524T000000Z"); }

TEST(Sign, TokenIsSentAndSigned) {
  http::Headers headers;
  signS3("GET", "h", "/", "", "r", {"a", "s", "token", false}, 0, &headers);
  ASSERT_EQ(headers.size(), 4u);
  EXPECT_EQ(headers[2].name, "x-amz-security-token");
  EXPECT_NE(headers[3].value.find("host;x-amz-content-sha256;x-amz-date;x-amz-security-token"), std::string::npos);
}

TEST(Sign, AnonymousIsUnsigned) {
  http::Headers headers;
  signS3("GET", "h", "/", "", "r", {.anonymous = true}, 0, &headers);
  EXPECT_TRUE(headers.empty());
}

}  // namespace
}  // namespace aquifer::object::s3
