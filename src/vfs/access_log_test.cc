#include "vfs/access_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

namespace aquifer::vfs {
namespace {

std::string readAll(AccessLog::Reader& r, size_t size) {
  std::string out(size, '\0');
  out.resize(r.read({reinterpret_cast<std::byte*>(out.data()), size}, {}));
  return out;
}

TEST(AccessLog, LineHasTheForm) {
  setenv("TZ", "UTC", 1);
  tzset();
  meta::Context ctx;
  ctx.uid = 1;
  ctx.gid = 2;
  ctx.pid = 13931;
  EXPECT_EQ(logLine(1796085774'841091'000, ctx, "open (2,0x8000) [fh:67]", "OK", 446'000),
            "2026.12.01 00:42:54.841091 [uid:1,gid:2,pid:13931] open (2,0x8000) [fh:67] - OK <0.000446>\n");
}

TEST(AccessLog, EntryAndMode) {
  meta::Attr a;
  a.type = meta::FileType::regular;
  a.mode = 0644;
  a.nlink = 1;
  a.atime.sec = 7;
  a.mtime.sec = -8;
  a.ctime.sec = 9;
  a.length = 100;
  EXPECT_EQ(logEntry(2, a), " (2,[-rw-r--r--:0100644,1,0,0,7,-8,9,100])");
  a.type = meta::FileType::directory;
  a.mode = 0755;
  EXPECT_EQ(logEntry(3, a), " (3,[drwxr-xr-x:0040755,1,0,0,7,-8,9,100])");
  EXPECT_EQ(modeString(0777), "?rwxrwxrwx");
  EXPECT_EQ(modeString(0104755), "-rwsr-xr-x");
}

TEST(AccessLog, NamesAreEscapedLikeGoStrings) {
  EXPECT_EQ(logName("plain name\tü"), "plain name\tü");
  EXPECT_EQ(logName("q`\x01"), "q`\\x01");
  EXPECT_EQ(logName("a\"\\\n\x7f"), "a\\\"\\\\\\n\\x7f");
  EXPECT_EQ(logName("bad\xff\xc3"), "bad\\xff\\xc3");
}

TEST(AccessLog, ReadersHaveTheirOwnQueues) {
  AccessLog log;
  EXPECT_FALSE(log.active());
  auto a = log.open(), b = log.open();
  EXPECT_TRUE(log.active());
  log.push("one\n");
  log.close(b);
  log.push("two\n");
  EXPECT_EQ(readAll(*a, 3), "one");       // full: does not wait
  EXPECT_EQ(readAll(*a, 5), "\ntwo\n");   // the rest of a cut line comes first
  log.close(a);
  EXPECT_FALSE(log.active());
}

TEST(AccessLog, QuietReaderGetsASign) {
  AccessLog log;
  auto a = log.open();
  EXPECT_EQ(readAll(*a, 100), "#\n");
}

TEST(AccessLog, InterruptedReaderReturnsEarly) {
  AccessLog log;
  auto a = log.open();
  std::string out(10, '\0');
  EXPECT_EQ(a->read({reinterpret_cast<std::byte*>(out.data()), 10}, [] { return true; }), 2u);
}

TEST(AccessLog, OverflowIsLostNotWaitedFor) {
  AccessLog log;
  auto a = log.open();
  for (int i = 0; i < 20000; i++) log.push("x\n");
  EXPECT_EQ(readAll(*a, 20480), std::string([] {
              std::string s;
              for (int i = 0; i < 10240; i++) s += "x\n";
              return s;
            }()));
}

}  // namespace
}  // namespace aquifer::vfs
