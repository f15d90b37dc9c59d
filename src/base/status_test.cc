#include "base/status.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace aquifer {
namespace {

TEST(Status, Errnos) {
  EXPECT_EQ(Status().toErrno(), 0);
  EXPECT_EQ(Status(Code::notFound).toErrno(), ENOENT);
  EXPECT_EQ(Status(Code::quotaExceeded).toErrno(), EDQUOT);
  for (Code code : {Code::conflict, Code::maybeCommitted, Code::unavailable, Code::corrupt, Code::notFormatted, Code::config}) {
    EXPECT_EQ(toErrno(code), EIO);
  }
}

TEST(Status, Texts) {
  EXPECT_EQ(Status().text(), "OK");
  EXPECT_EQ(Status(Code::notFound).text(), "no such file or directory");
  EXPECT_EQ(Status(Code::notFound, "no such key").text(), "no such key");
  EXPECT_EQ(Status(Code::io).annotate("put a").annotate("block 1").text(), "block 1: put a: input/output error");
  EXPECT_TRUE(Status().annotate("x").isOk());
}

Result<int> half(int n) {
  if (n % 2 != 0) return Code::invalid;
  return n / 2;
}
Result<std::string> quarter(int n) {
  TRY_ASSIGN(const int h, half(n));
  TRY(half(h));
  TRY_ASSIGN(const int q, half(h));
  return std::to_string(q);
}

TEST(Status, Propagation) {
  EXPECT_EQ(*quarter(8), "2");
  EXPECT_TRUE(quarter(6).is(Code::invalid));
  EXPECT_TRUE(quarter(5).is(Code::invalid));
  EXPECT_TRUE(quarter(8).status().isOk());
}

TEST(Status, CopiesKeepTheMessage) {
  Status a(Code::io, "disk on fire");
  Status b = a;
  Status c;
  c = b;
  Status d = std::move(a);
  EXPECT_EQ(b.text(), "disk on fire");
  EXPECT_EQ(c.text(), "disk on fire");
  EXPECT_EQ(d.text(), "disk on fire");
}

TEST(Bytes, ReaderStopsAtTheEnd) {
  std::string bytes;
  appendBig<uint16_t>(bytes, 0x0102);
  appendLittle<uint32_t>(bytes, 0x01020304);
  ByteReader in(bytes);
  EXPECT_EQ(in.big<uint16_t>(), 0x0102);
  EXPECT_EQ(in.left(), 4u);
  EXPECT_EQ(in.little<uint32_t>(), 0x01020304u);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.big<uint8_t>(), 0);
  EXPECT_FALSE(in.ok());
  ByteReader cut(std::string_view("\x01", 1));
  EXPECT_EQ(cut.big<uint64_t>(), 0u);
  EXPECT_EQ(cut.big<uint8_t>(), 0);
  EXPECT_FALSE(cut.ok());
}

}  // namespace
}  // namespace aquifer
