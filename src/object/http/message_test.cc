#include "object/http/message.h"

#include <gtest/gtest.h>

#include "base/encode.h"
#include "object/http/proxy.h"

namespace aquifer::object::http {
namespace {

TEST(Message, Head) {
  const auto head = parseHead("HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\nETag:\"x\"\r\nEmpty:\r\n\r\n");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 206);
  EXPECT_TRUE(head->keepAlive);
  EXPECT_EQ(*head->header("content-length"), "5");
  EXPECT_EQ(*head->header("etag"), "\"x\"");
  EXPECT_EQ(*head->header("empty"), "");
  EXPECT_EQ(head->header("none"), nullptr);
}

TEST(Message, KeepAlive) {
  EXPECT_FALSE(parseHead("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")->keepAlive);
  EXPECT_FALSE(parseHead("HTTP/1.0 200 OK\r\n\r\n")->keepAlive);
  EXPECT_TRUE(parseHead("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n")->keepAlive);
}

TEST(Message, DamagedHeads) {
  for (const char* text : {"", "\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 999 X\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: empty\r\n\r\n", "HTTP/1.1 200 OK\r\nA B: c\r\n\r\n",
                           "HTTP/1.1 200 OK\r\n folded\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n", "SSH-2.0-x\r\n\r\n"})
    EXPECT_TRUE(parseHead(text).is(Code::io)) << text;
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (size_t i = 0; i <= kMaxHeaders; i++) many += "a: b\r\n";
  EXPECT_FALSE(parseHead(many + "\r\n"));
}

TEST(Message, Numbers) {
  EXPECT_EQ(*parseNumber("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616"}) EXPECT_FALSE(parseNumber(bad)) << bad;
  EXPECT_EQ(*parseChunkSize("1fF;name=value"), 0x1FFu);
  EXPECT_EQ(*parseChunkSize("0 "), 0u);
  for (const char* bad : {"", ";x", "g", "-1", "fffffffffffffffff"}) EXPECT_FALSE(parseChunkSize(bad)) << bad;
}

TEST(Message, Dates) {
  EXPECT_EQ(parseHttpDate("Wed, 21 Oct 2015 07:28:00 GMT"), 1445412480);
  for (const char* bad : {"", "Wed, 21 Oct 2015 07:28:00 CET", "Wed, 21 Foo 2015 07:28:00 GMT", "Wed, 21 anF 2015 07:28:00 GMT"})
    EXPECT_EQ(parseHttpDate(bad), 0) << bad;
}

TEST(Message, PercentEncoding) {
  EXPECT_EQ(percentEncode("a/b c~%\xC3\xBC", true), "a/b%20c~%25%C3%BC");
  EXPECT_EQ(percentEncode("a/b", false), "a%2Fb");
  std::string all;
  for (int c = 0; c < 256; c++) all += static_cast<char>(c);
  EXPECT_EQ(*percentDecode(percentEncode(all, false), true), all);
  EXPECT_EQ(*percentDecode("a+b", true), "a b");
  EXPECT_EQ(*percentDecode("a+b", false), "a+b");
  for (const char* bad : {"%", "%4", "%4g", "a%", "%%41"}) EXPECT_FALSE(percentDecode(bad, false)) << bad;
}

TEST(Proxy, FromTheEnvironment) {
  auto with = [](std::string http, std::string no) {
    return [=](const char* name) -> std::string {
      const std::string_view n = name;
      return n == "http_proxy" ? http : n == "NO_PROXY" ? no : "";
    };
  };
  const Origin plain{.host = "s3.example"}, tls{.tls = true, .host = "s3.example"}, loopback{.host = "127.0.0.1"};
  const auto proxy = proxyFor(plain, with("http://u%40:p@gate:3128/", ""));
  ASSERT_TRUE(proxy);
  EXPECT_EQ(proxy->host, "gate");
  EXPECT_EQ(proxy->port, 3128);
  EXPECT_EQ(proxy->authorization, "Basic dUA6cA==");
  EXPECT_TRUE(proxyFor(tls, with("http://gate:3128", ""))->host.empty());
  EXPECT_TRUE(proxyFor(loopback, with("http://gate:3128", ""))->host.empty());
  for (const char* no : {"*", "example", ".example", "a, s3.example"}) EXPECT_TRUE(proxyFor(plain, with("gate:1", no))->host.empty()) << no;
  for (const char* no : {"", "xample", "3.example", "b.s3.example"}) EXPECT_EQ(proxyFor(plain, with("gate:1", no))->host, "gate") << no;
  for (const char* bad : {"socks5://gate:1", "gate:0", "gate:x", ":1", "http://%zz@gate:1"})
    EXPECT_TRUE(proxyFor(plain, with(bad, "")).is(Code::config)) << bad;
}

}  // namespace
}  // namespace aquifer::object::http
