#include "meta/model/codec.h"

#include <gtest/gtest.h>

namespace aquifer::meta {
namespace {

std::string unhex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

Attr sample() {
  Attr a;
  a.flags = 33;
  a.type = FileType::regular;
  a.mode = 04751;
  a.uid = 4'000'000'000u;
  a.gid = 7;
  a.rdev = 9;
  a.atime = {-5, 999'999'999};
  a.mtime = {1'700'000'000, 1};
  a.ctime = {1'700'000'001, 2};
  a.nlink = 3;
  a.length = 1ull << 40;
  a.parent = kTrashIno + 4;
  return a;
}

TEST(Codec, attrHasItsFourLengthsAndComesBack) {
  for (const bool acl : {false, true})
    for (const bool tier : {false, true}) {
      Attr a = sample();
      if (acl) a.defaultAcl = 8;
      if (tier) a.tier = 2;
      const auto bytes = encodeAttr(a);
      EXPECT_EQ(bytes.size(), 72u + (acl ? 8 : 0) + (tier ? 1 : 0));
      EXPECT_EQ(bytes.back(), '\0');
      const auto back = decodeAttr(bytes);
      ASSERT_TRUE(back);
      EXPECT_EQ(*back, a);
    }
}

TEST(Codec, attrLayoutOfAFreshRoot) {
  Attr a;
  a.type = FileType::directory;
  a.mode = 0777;
  a.nlink = 2;
  a.length = 4096;
  a.parent = 1;
  EXPECT_EQ(encodeAttr(a), unhex("0021ff0000000000000000"
                                 "000000000000000000000000000000000000000000000000000000000000000000000000"
                                 "0000000200000000000010000000000000000000000000"
                                 "0100"));
}

TEST(Codec, attrOfOldAndDamagedRecords) {
  const auto bytes = encodeAttr(sample());
  const auto old = decodeAttr(std::string_view(bytes).substr(0, 63));
  ASSERT_TRUE(old);
  EXPECT_EQ(old->parent, 0u);
  EXPECT_EQ(old->length, sample().length);
  EXPECT_TRUE(decodeAttr(std::string_view(bytes).substr(0, 62)).is(Code::corrupt));
  auto wrongType = bytes;
  wrongType[1] = '\xF0';
  EXPECT_TRUE(decodeAttr(wrongType).is(Code::corrupt));
}

TEST(Codec, dentry) {
  const Dentry d{FileType::directory, 0x0102030405060708};
  EXPECT_EQ(encodeDentry(d), unhex("020102030405060708"));
  EXPECT_EQ(*decodeDentry(encodeDentry(d)), d);
  EXPECT_TRUE(decodeDentry("12345678").is(Code::corrupt));
  EXPECT_TRUE(decodeDentry(unhex("080102030405060708")).is(Code::corrupt));
}

TEST(Codec, slices) {
  const std::vector<Slice> s{{100, 7, 4096, 96, 4000}, {0, 0, 0, 0, 1 << 26}};
  const auto bytes = encodeSlices(s);
  EXPECT_EQ(bytes.substr(0, 24), unhex("00000064"
                                       "0000000000000007"
                                       "00001000"
                                       "00000060"
                                       "00000fa0"));
  EXPECT_EQ(*decodeSlices(bytes), s);
  EXPECT_TRUE(decodeSlices(bytes.substr(1)).is(Code::corrupt));
  EXPECT_TRUE(decodeSlices(encodeSlices({{1, 0, 0, 0, 1 << 26}})).is(Code::corrupt));       // beyond the chunk
  EXPECT_TRUE(decodeSlices(encodeSlices({{0, 7, 10, 5, 6}})).is(Code::corrupt));            // beyond the slice
  EXPECT_TRUE(decodeSlices(encodeSlices({{0xFFFFFFFF, 7, 10, 0, 10}})).is(Code::corrupt));  // would wrap in 32 bits
  EXPECT_TRUE(decodeSlices("")->empty());
}

TEST(Codec, delayedAndLocks) {
  const std::vector<DelayedSlice> d{{1, 2}, {1ull << 60, 5}};
  EXPECT_EQ(encodeDelayed(d).size(), 24u);
  EXPECT_EQ(*decodeDelayed(encodeDelayed(d)), d);
  EXPECT_TRUE(decodeDelayed("x").is(Code::corrupt));
  const std::vector<LockRange> l{{0, 11, 0, 9}, {1, 12, 10, ~0ull}};
  EXPECT_EQ(encodeLockRanges(l).substr(24), unhex("00000001"
                                                  "0000000c"
                                                  "000000000000000a"
                                                  "ffffffffffffffff"));
  EXPECT_EQ(*decodeLockRanges(encodeLockRanges(l)), l);
  EXPECT_TRUE(decodeLockRanges("x").is(Code::corrupt));
}

TEST(Codec, sessionInfoAsTheGoClientWritesIt) {
  const std::string json =
      R"({"Version":"1.4.2+2026-01-01.abcdef","HostName":"h\u003c1\u003e","IPAddrs":["10.0.0.1","::1"],"MountPoint":"/m","MountTime":"2026-12-01T03:47:28.123456789Z","ProcessID":42})";
  const auto info = decodeSessionInfo(json);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->hostName, "h<1>");
  EXPECT_EQ(info->ipAddrs, (std::vector<std::string>{"10.0.0.1", "::1"}));
  EXPECT_EQ(info->processId, 42);
  EXPECT_EQ(encodeSessionInfo(*info), json);
  SessionInfo noAddress = *info;
  noAddress.ipAddrs.clear();
  EXPECT_EQ(encodeSessionInfo(noAddress).find("IPAddrs"), std::string::npos);
}

TEST(Codec, sessionInfoOfDamagedRecords) {
  EXPECT_TRUE(decodeSessionInfo("").is(Code::corrupt));
  EXPECT_TRUE(decodeSessionInfo("[1]").is(Code::corrupt));
  EXPECT_TRUE(decodeSessionInfo("{\"a\":" + std::string(100'000, '[')).is(Code::corrupt));
  const auto odd = decodeSessionInfo(R"({"Version":1,"ProcessID":"x","HostName":"h","IPAddrs":[1,"a"]})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->hostName, "h");
  EXPECT_EQ(odd->ipAddrs, std::vector<std::string>{"a"});
}

TEST(Codec, changeLogEscape) {
  EXPECT_EQ(escapeLog("a b-_/~"), "a b-_/~");
  EXPECT_EQ(escapeLog(std::string_view("\0\x1f\x7f\xff,%()\"\\", 10)), "%00%1F%7F%FF%2C%25%28%29%22%5C");
}

}  // namespace
}  // namespace aquifer::meta
