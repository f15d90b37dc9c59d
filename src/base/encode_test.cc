#include "base/encode.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "base/uuid.h"

namespace aquifer {
namespace {

TEST(Encode, Hex) {
  EXPECT_EQ(hexEncode(std::string("\x00\xff\x1a", 3)), "00ff1a");
  EXPECT_EQ(*hexDecode("00fF1A"), std::string("\x00\xff\x1a", 3));
  EXPECT_EQ(*hexDecode(""), "");
  for (const char* bad : {"0", "0g", "0x12", " 1"}) EXPECT_FALSE(hexDecode(bad)) << bad;
}

TEST(Encode, Base64) {
  const std::pair<const char*, const char*> pairs[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : pairs) {
    EXPECT_EQ(base64Encode(plain), text);
    EXPECT_EQ(*base64Decode(text), plain);
  }
  EXPECT_EQ(base64Encode("\xfb\xff"), "+/8=");
  for (const char* bad : {"Z", "Zg", "Zg=", "Zh==", "Z===", "====", "Zg==Zg==", "Zm 9", "Zm9\n", "Zm-_"})
    EXPECT_FALSE(base64Decode(bad)) << bad;
  for (size_t size = 0; size < 70; size++) {
    std::string bytes(size, '\0');
    randomBytes(bytes.data(), size);
    EXPECT_EQ(*base64Decode(base64Encode(bytes)), bytes);
  }
}

TEST(Encode, MaskUrl) {
  EXPECT_EQ(maskUrl("redis://user:secret@host:6379/1"), "redis://user:****@host:6379/1");
  EXPECT_EQ(maskUrl("redis://:secret@host/1"), "redis://:****@host/1");
  EXPECT_EQ(maskUrl("mysql://u:p@ss:w@(host:3306)/db"), "mysql://u:****@(host:3306)/db");
  EXPECT_EQ(maskUrl("user:pw@host"), "user:****@host");
  for (const char* open : {"sqlite3:///a/b.db", "redis://host:6379/1", "redis://user@host:6379", "", "a@b"})
    EXPECT_EQ(maskUrl(open), open);
}

TEST(Random, TextAndRange) {
  const std::string text = randomText(1000, kAlphanumeric);
  EXPECT_EQ(text.size(), 1000u);
  EXPECT_EQ(text.find_first_not_of(kAlphanumeric), std::string::npos);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; i++) seen.insert(randomBelow(5));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(randomBelow(0), 0u);
  EXPECT_EQ(randomBelow(1), 0u);
}

TEST(Uuid, Version4) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; i++) {
    const std::string id = randomUuid();
    EXPECT_TRUE(isUuid(id)) << id;
    EXPECT_EQ(id[14], '4');
    EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos);
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 100u);
  for (const char* bad : {"", "013e67ba-a17d-4882-859f-10a84c81743", "013e67baaa17d-4882-859f-10a84c817432",
                          "g13e67ba-a17d-4882-859f-10a84c817432"}) {
    EXPECT_FALSE(isUuid(bad)) << bad;
  }
}

}  // namespace
}  // namespace aquifer
