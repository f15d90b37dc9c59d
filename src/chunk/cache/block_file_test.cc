#include "chunk/cache/block_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/crc32c.h"
#include "chunk/test_support.h"

namespace aquifer::chunk {
namespace {

using namespace testing;

class BlockFileTest : public ::testing::Test {
 protected:
  std::string path() { return dir_.path() + "/raw/chunks/0/0/1_0_1"; }
  void write(const std::string& data, bool trailer, const std::string& footer = {}) {
    ASSERT_TRUE(writeBlockFile(path(), bytesOf(data), trailer ? crcTrailer(bytesOf(data)) : "", footer, 0600, 0700));
  }
  uint64_t size() {
    struct stat st {};
    return ::stat(path().c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
  }
  void flip(uint64_t at) {
    std::fstream f(path(), std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(static_cast<std::streamoff>(at));
    const char c = static_cast<char>(f.get());
    f.seekp(static_cast<std::streamoff>(at));
    f.put(static_cast<char>(c ^ 0x40));
  }
  Status read(uint32_t n, Checksum level, uint32_t off, uint32_t len, std::string* out) {
    auto f = BlockFile::open(path(), n, level);
    if (!f) return f.status();
    out->assign(len, 'U');
    return (*f)->read(off, spanOf(*out));
  }
  TempDir dir_;
  std::string got_;
};

TEST_F(BlockFileTest, sizesAndModesAreThoseOfTheFormat) {
  write(std::string(100, 'a'), true);
  EXPECT_EQ(size(), 104u);
  struct stat st {};
  ASSERT_EQ(::stat(path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat((dir_.path() + "/raw/chunks").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
  write(std::string(2 << 20, 'a'), true);
  EXPECT_EQ(size(), 2097408u);
  write(std::string(100, 'a'), false);
  EXPECT_EQ(size(), 100u);
  EXPECT_EQ(dirModeFor(0640), 0770u);
  EXPECT_EQ(dirModeFor(0600), 0700u);
}

TEST_F(BlockFileTest, trailerIsBigEndianCrc32cPerPiece) {
  const std::string data = pattern(40'000, 3);
  const std::string t = crcTrailer(bytesOf(data));
  ASSERT_EQ(t.size(), 8u);
  const uint32_t second = crc32c(data.data() + 32768, 40'000 - 32768);
  EXPECT_EQ(static_cast<uint8_t>(t[4]), second >> 24);
  EXPECT_EQ(static_cast<uint8_t>(t[7]), second & 0xFF);
  // "123456789" is the check value of the polynomial.
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283u);
}

TEST_F(BlockFileTest, everyRangeReadsBack) {
  const std::string data = pattern(100'000, 4);
  write(data, true);
  for (auto level : {Checksum::none, Checksum::full, Checksum::shrink, Checksum::extend})
    for (uint32_t off : {0u, 1u, 32767u, 32768u, 40'000u, 65'536u, 99'999u})
      for (uint32_t len : {1u, 100u, 32768u, 33'000u, 70'000u, 100'000u}) {
        if (off + len > data.size()) continue;
        ASSERT_TRUE(read(100'000, level, off, len, &got_)) << off << " " << len;
        ASSERT_EQ(got_, data.substr(off, len));
      }
  EXPECT_FALSE(read(100'000, Checksum::extend, 99'999, 2, &got_));
}

TEST_F(BlockFileTest, whatEachLevelChecks) {
  const std::string data = pattern(100'000, 5);
  write(data, true);
  flip(40'000);  // in the second piece
  EXPECT_TRUE(read(100'000, Checksum::extend, 33'000, 10, &got_).is(Code::corrupt));   // widened to the piece
  EXPECT_TRUE(read(100'000, Checksum::extend, 0, 32768, &got_));
  EXPECT_TRUE(read(100'000, Checksum::extend, 65'536, 100, &got_));
  EXPECT_TRUE(read(100'000, Checksum::shrink, 33'000, 10, &got_));                     // no whole piece inside
  EXPECT_TRUE(read(100'000, Checksum::shrink, 30'000, 40'000, &got_).is(Code::corrupt));
  EXPECT_TRUE(read(100'000, Checksum::full, 0, 99'999, &got_));
  EXPECT_TRUE(read(100'000, Checksum::full, 0, 100'000, &got_).is(Code::corrupt));
  EXPECT_TRUE(read(100'000, Checksum::none, 0, 100'000, &got_));
}

TEST_F(BlockFileTest, damageOfTheLastShortPiece) {
  write(pattern(100'000, 6), true);
  flip(99'999);
  EXPECT_TRUE(read(100'000, Checksum::shrink, 98'304, 1696, &got_).is(Code::corrupt));
  EXPECT_TRUE(read(100'000, Checksum::extend, 98'304, 1, &got_).is(Code::corrupt));
}

TEST_F(BlockFileTest, tails) {
  FileTail t;
  EXPECT_TRUE(parseTail(100, 100, &t));
  EXPECT_FALSE(t.hasTrailer || t.hasFooter);
  EXPECT_TRUE(parseTail(104, 100, &t));
  EXPECT_TRUE(t.hasTrailer && !t.hasFooter);
  EXPECT_TRUE(parseTail(104 + 20, 100, &t));
  EXPECT_TRUE(t.hasTrailer && t.hasFooter);
  EXPECT_TRUE(parseTail(100 + 18, 100, &t));
  EXPECT_TRUE(!t.hasTrailer && t.hasFooter);
  EXPECT_FALSE(parseTail(99, 100, &t));
  EXPECT_FALSE(parseTail(70'000 + 4, 70'000, &t));  // three pieces need twelve bytes
}

TEST_F(BlockFileTest, tierFootersAsTheEncoderWritesThem) {
  EXPECT_EQ(tierFooter(0, true), "");
  EXPECT_EQ(tierFooter(2, false), std::string("\x46\x53\x00\x0E\x82\xA4tier\xCC\x02\xA3pad\xC4\x00", 18));
  EXPECT_EQ(tierFooter(3, true), std::string("\x46\x53\x00\x10\x82\xA4tier\xCC\x03\xA3pad\xC4\x02\x00\x00", 20));
  for (bool trailer : {false, true})
    for (uint8_t tier = 1; tier <= 3; ++tier) {
      write(std::string(100, 'a'), trailer, tierFooter(tier, trailer));
      auto f = BlockFile::open(path(), 100, Checksum::extend);
      ASSERT_TRUE(f);
      EXPECT_EQ((*f)->tier(), tier);
    }
  EXPECT_EQ(parseTierFooter("garbage"), 0);
  EXPECT_EQ(parseTierFooter(std::string("\x46\x53\x00\x0E\x82\xA4tier\xCC\x09\xA3pad\xC4\x00", 18)), 0);
  EXPECT_EQ(parseTierFooter(std::string("\x46\x53\x00\x06\x82\xA4tier", 10)), 0);
}

TEST_F(BlockFileTest, errors) {
  EXPECT_TRUE(BlockFile::open(path(), 100, Checksum::extend).is(Code::notFound));
  write(std::string(99, 'a'), false);
  EXPECT_TRUE(BlockFile::open(path(), 100, Checksum::extend).is(Code::corrupt));
  // No temporary file is left by a write that cannot be finished.
  ASSERT_EQ(::mkdir((dir_.path() + "/x").c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((dir_.path() + "/x/taken").c_str(), 0700), 0);
  EXPECT_FALSE(writeBlockFile(dir_.path() + "/x/taken", bytesOf("a"), {}, {}, 0600, 0700));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/x/taken.tmp"));
}

}  // namespace
}  // namespace aquifer::chunk
