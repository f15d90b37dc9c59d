#include "chunk/compress.h"

#include <gtest/gtest.h>

#include "chunk/test_support.h"

namespace aquifer::chunk {
namespace {

using namespace testing;

std::string packed(Compression how, const std::string& in) {
  std::string out(compressBound(how, in.size()), '\0');
  auto n = compress(how, bytesOf(in), spanOf(out));
  EXPECT_TRUE(n);
  out.resize(n ? *n : 0);
  return out;
}

TEST(Compress, bytesAsOtherClientsWriteThem) {
  EXPECT_EQ(packed(Compression::lz4, "x"), std::string("\x10x"));
  EXPECT_EQ(packed(Compression::lz4, std::string(256 << 10, 'A')).size(), 1038u);
  EXPECT_EQ(packed(Compression::lz4, std::string(300'000 - (256 << 10), 'A')).size(), 159u);
  EXPECT_EQ(packed(Compression::zstd, std::string(1000, 'A')).substr(0, 4), std::string("\x28\xB5\x2F\xFD"));
}

TEST(Compress, roundTrips) {
  for (auto how : {Compression::none, Compression::lz4, Compression::zstd})
    for (size_t n : {1, 2, 4095, 70'000, 1 << 20}) {
      for (const auto& in : {pattern(n, n), std::string(n, 'z')}) {
        auto p = packed(how, in);
        std::string out(n, '\0');
        ASSERT_TRUE(decompress(how, bytesOf(p), spanOf(out)));
        ASSERT_EQ(out, in);
      }
    }
}

TEST(Compress, damageIsCorruptNeverACrash) {
  for (auto how : {Compression::lz4, Compression::zstd}) {
    const auto good = packed(how, std::string(5000, 'q') + pattern(3000, 1));
    std::string out(8000, '\0'), longer(8001, '\0'), shorter(7999, '\0');
    EXPECT_TRUE(decompress(how, bytesOf(good), spanOf(longer)).is(Code::corrupt));
    EXPECT_TRUE(decompress(how, bytesOf(good), spanOf(shorter)).is(Code::corrupt));
    EXPECT_TRUE(decompress(how, bytesOf(good.substr(0, good.size() / 2)), spanOf(out)).is(Code::corrupt));
    EXPECT_TRUE(decompress(how, bytesOf(std::string()), spanOf(out)).is(Code::corrupt));
    for (size_t i = 0; i < 300; ++i) {
      auto bad = good;
      bad[i * 7 % bad.size()] ^= static_cast<char>(1 + i % 255);
      (void)decompress(how, bytesOf(bad), spanOf(out)).isOk();  // any answer, within its buffers
    }
  }
}

TEST(Compress, nothingIsLeftToDoForNoBytes) {
  for (auto how : {Compression::none, Compression::lz4, Compression::zstd}) EXPECT_TRUE(decompress(how, {}, {}));
}

TEST(Compress, names) {
  EXPECT_EQ(*parseCompression(""), Compression::none);
  EXPECT_EQ(*parseCompression("LZ4"), Compression::lz4);
  EXPECT_EQ(*parseCompression("Zstd"), Compression::zstd);
  EXPECT_TRUE(parseCompression("gzip").is(Code::config));
}

}  // namespace
}  // namespace aquifer::chunk
