#include "object/s3/xml.h"

#include <gtest/gtest.h>

#include "object/s3/bucket_region.h"
#include "object/s3/delete_many.h"
#include "object/s3/listing.h"

namespace aquifer::object::s3 {
namespace {

TEST(Xml, ElementsAndText) {
  const auto root = parseXml("\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- c --><a x='1>' y = \"2\"><n:b>1&lt;&amp;&#65;&#x20ac;</n:b>t<b/>u<c><![CDATA[<x>&]]></c></a>\n");
  ASSERT_TRUE(root) << root.status().text();
  EXPECT_EQ(root->name, "a");
  EXPECT_EQ(root->text, "tu");
  ASSERT_EQ(root->children.size(), 3u);
  EXPECT_EQ(root->textOf("b"), "1<&A\xE2\x82\xAC");
  EXPECT_EQ(root->textOf("c"), "<x>&");
  EXPECT_EQ(root->textOf("d"), "");
}

TEST(Xml, MalformedIsRefused) {
  for (const char* text :
       {"", " ", "a", "<", "<a", "<a>", "<a/", "<a></b>", "<a></a>x", "<a/><b/>", "</a>", "<a><b></a></b>", "<a>&unknown;</a>", "<a>&;</a>",
        "<a>&#;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&amp</a>", "<a b></a>", "<a b=c></a>", "<a b='c></a>",
        "<a><!-- </a>", "<a><![CDATA[ </a>", "<a><? </a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<a><!DOCTYPE b></a>", "<a", "< a/>",
        "<a></ a>", "<a>&#99999999999;</a>", "<?xml"})
    EXPECT_TRUE(parseXml(text).is(Code::io)) << text;
}

TEST(Xml, DepthAndCountAreBounded) {
  std::string deep, flat = "<a>";
  for (int i = 0; i < kMaxXmlDepth + 1; i++) deep += "<a>";
  for (int i = 0; i < kMaxXmlDepth + 1; i++) deep += "</a>";
  EXPECT_FALSE(parseXml(deep));
  EXPECT_TRUE(parseXml(deep.substr(3, deep.size() - 7)));
  for (size_t i = 0; i < kMaxXmlElements; i++) flat += "<b/>";
  EXPECT_FALSE(parseXml(flat + "</a>"));
  EXPECT_TRUE(parseXml(flat.substr(0, flat.size() - 4) + "</a>"));
}

TEST(Xml, EscapedTextComesBack) {
  const std::string odd = "a&b<c>d\r\n'\"\xC3\xBC";
  EXPECT_EQ(parseXml("<a>" + xmlEscape(odd) + "</a>")->text, odd);
}

TEST(Listing, PageWithEncodedKeys) {
  const auto page = parseListPage(
      "<ListBucketResult xmlns='http://s3'><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t/+=</NextContinuationToken>"
      "<Contents><Key>a+b%2Bc%0A/%C3%BC</Key><Size>12</Size><LastModified>2009-10-12T17:50:30.000Z</LastModified>"
      "<StorageClass>GLACIER</StorageClass></Contents><Contents><Key>dir/</Key><Size>0</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page) << page.status().text();
  EXPECT_TRUE(page->truncated);
  EXPECT_EQ(page->token, "t/+=");
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "a b+c\n/\xC3\xBC");
  EXPECT_EQ(page->objects[0].size, 12u);
  EXPECT_EQ(page->objects[0].mtime, 1255369830);
  EXPECT_EQ(page->objects[0].storageClass, "GLACIER");
  EXPECT_FALSE(page->objects[0].isDir);
  EXPECT_TRUE(page->objects[1].isDir);
}

TEST(Listing, PlainKeysStayAsTheyAre) {
  const auto page = parseListPage("<ListBucketResult><Contents><Key>a+b%20</Key><Size>1</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->objects[0].key, "a+b%20");
  EXPECT_FALSE(page->truncated);
}

TEST(Listing, DamagedPagesAreRefused) {
  for (const char* contents : {"<Key>a</Key>", "<Size>1</Size>", "<Key>a</Key><Size>-1</Size>", "<Key>a</Key><Size>1x</Size>",
                               "<Key></Key><Size>1</Size>", "<Key>%zz</Key><Size>1</Size>", "<Key>a</Key><Size>99999999999999999999</Size>"})
    EXPECT_FALSE(parseListPage(std::string("<ListBucketResult><EncodingType>url</EncodingType><Contents>") + contents +
                               "</Contents></ListBucketResult>"))
        << contents;
  EXPECT_FALSE(parseListPage("<html>Welcome</html>"));
}

TEST(Listing, ErrorsAreShortAndPrintable) {
  const auto e = parseError("<Error><Code>No\nSuch</Code><Message>" + std::string(5000, 'x') + "</Message></Error>");
  EXPECT_EQ(e.code, "No Such");
  EXPECT_EQ(e.message.size(), 300u);
  EXPECT_EQ(parseError("not xml").code, "");
}

TEST(Listing, MeaningOfErrors) {
  EXPECT_EQ(codeOf(404, "NoSuchKey"), Code::notFound);
  EXPECT_EQ(codeOf(404, ""), Code::notFound);
  EXPECT_EQ(codeOf(404, "NoSuchBucket"), Code::config);
  EXPECT_EQ(codeOf(403, "SignatureDoesNotMatch"), Code::accessDenied);
  for (int status : {408, 429, 500, 502, 503, 504}) EXPECT_EQ(codeOf(status, ""), Code::unavailable) << status;
  EXPECT_EQ(codeOf(400, "RequestTimeout"), Code::unavailable);
  EXPECT_EQ(codeOf(200, "SlowDown"), Code::unavailable);
  EXPECT_EQ(codeOf(507, ""), Code::noSpace);
  EXPECT_EQ(codeOf(501, ""), Code::unsupported);
  EXPECT_EQ(codeOf(301, "PermanentRedirect"), Code::config);
  EXPECT_EQ(codeOf(400, "Whatever"), Code::io);
}

TEST(Listing, Times) {
  EXPECT_EQ(parseIsoTime("1970-01-01T00:00:01Z"), 1);
  EXPECT_EQ(parseIsoTime("2026-12-01T14:00:00+00:00"), 1796133600);
  for (const char* bad : {"", "2026", "yyyy-mm-ddThh:mm:ss", "2026/12/01T14:00:00Z"}) EXPECT_EQ(parseIsoTime(bad), 0) << bad;
}

TEST(DeleteMany, RequestAndAnswer) {
  const std::string keys[] = {"a<b>&c", "d\r"};
  const auto root = parseXml(deleteRequest(keys));
  ASSERT_TRUE(root);
  ASSERT_EQ(root->children.size(), 3u);
  EXPECT_EQ(root->textOf("Quiet"), "true");
  EXPECT_EQ(root->children[1].textOf("Key"), keys[0]);
  EXPECT_EQ(root->children[2].textOf("Key"), keys[1]);
  EXPECT_EQ(contentMd5(""), "1B2M2Y8AsgTpgAmY7PhCfg==");
  EXPECT_TRUE(parseDeleteAnswer("<DeleteResult/>"));
  EXPECT_TRUE(parseDeleteAnswer("<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error></DeleteResult>"));
  EXPECT_TRUE(parseDeleteAnswer("<DeleteResult><Error><Key>a</Key><Code>AccessDenied</Code></Error></DeleteResult>").is(Code::accessDenied));
  EXPECT_TRUE(parseDeleteAnswer("<DeleteResult><Error><Key>a</Key><Code>SlowDown</Code></Error></DeleteResult>").is(Code::unavailable));
  EXPECT_TRUE(parseDeleteAnswer("<html/>").is(Code::io));
}

TEST(BucketRegion, Location) {
  EXPECT_EQ(*parseLocation("<LocationConstraint xmlns='x'>eu-central-1</LocationConstraint>"), "eu-central-1");
  EXPECT_EQ(*parseLocation("<LocationConstraint/>"), "us-east-1");
  EXPECT_EQ(*parseLocation("<LocationConstraint>EU</LocationConstraint>"), "eu-west-1");
  EXPECT_FALSE(parseLocation("<LocationConstraint>evil.example/</LocationConstraint>"));
  EXPECT_FALSE(parseLocation("<Other/>"));
}

}  // namespace
}  // namespace aquifer::object::s3
