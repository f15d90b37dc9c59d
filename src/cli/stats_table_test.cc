#include "cli/stats_table.h"

#include <gtest/gtest.h>

#include "cli/access_log_line.h"

namespace aquifer::cli {

TEST(StatsTable, HeaderOfEverySection) {
  std::string unknown;
  StatsTable table("tufmcogrx", true, false, &unknown);
  EXPECT_EQ(unknown, "rx");
  EXPECT_EQ(table.header(),
            "----system---- ---------usage--------- ----------fuse--------- -------------meta------------ -blockcache "
            "---------------------object-------------------- -----go----\n"
            "     time     | cpu   mem   buf  cache| ops   lat   read write| ops   lat   txn   lat  retry| read write| get  get_c  lat   put  put_c  "
            "lat  del_c  lat |alloc  sys ");
}

TEST(StatsTable, RowIsGrowthPerSecond) {
  std::string unknown;
  StatsTable table("ufmc", false, false, &unknown);
  auto before = parseStats("juicefs_cpu_usage 1\njuicefs_fuse_ops_durations_histogram_seconds_total 10\nno value\n");
  auto after = parseStats(
      "juicefs_cpu_usage 1.5\njuicefs_memory 83886080\njuicefs_fuse_ops_durations_histogram_seconds_total 110\n"
      "juicefs_fuse_ops_durations_histogram_seconds_sum 0.5\njuicefs_fuse_read_size_bytes_sum 2.048e+04\njuicefs_blockcache_hit_bytes 200\n");
  EXPECT_EQ(table.row(before, after, 2), "25.0%   80M    0 |  50  5.00    10K    0 |   0     0 | 100B    0 ");
  EXPECT_EQ(table.row(after, after, 1), " 0.0%   80M    0 |   0     0     0     0 |   0     0 |   0     0 ");
}

TEST(AccessLogLine, PartsOfALine) {
  auto line = parseAccessLine(
      "2026.12.01 08:58:16.592896 [uid:7,gid:8,pid:11467] getattr (1): (1,[drwxrwxrwx:0040777,2,0,0,1,1,1,4096]) - OK <0.000372>");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->op, "getattr");
  EXPECT_EQ(line->uid, 7u);
  EXPECT_EQ(line->gid, 8u);
  EXPECT_EQ(line->pid, 11467u);
  EXPECT_EQ(line->tookMicros, 372);
  EXPECT_EQ(logTimeText(line->unixMicros), "2026-12-01T08:58:16");
  EXPECT_EQ(line->unixMicros % 1'000'000, 592896);
}

TEST(AccessLogLine, OtherLinesAreNone) {
  for (const char* text : {"", "#", "2026.12.01", "2026.12.01 08:58:16.592896 [uid:0,gid:0,pid:1] read (1) - OK", "x y z w <0.1>",
                           "2026.12.01 08:58:16.592896 [uid:a,gid:0,pid:1] read (1) - OK <0.1>", "2026.12.01 08:58:16.592896 [uid:0] read <0.1>",
                           "2026.12.01 08:58:16.592896 [uid:0,gid:0,pid:1] read (1) - OK <1e300>"})
    EXPECT_FALSE(parseAccessLine(text)) << text;
}

TEST(Profile, SumsByTotalTime) {
  ProfileTable table;
  AccessLine line;
  line.op = "read", line.tookMicros = 100;
  table.add(line);
  table.add(line);
  line.op = "flush", line.tookMicros = 11738;
  table.add(line);
  EXPECT_EQ(table.render("", 2, "2026-12-01T08:58:17"),
            "> JuiceFS Profiling                Refresh: 2 seconds  2026-12-01T08:58:17\n"
            "Operation           Count     Average(us)          Total(us)     Percent(%)\n"
            "flush                   1           11738              11738            0.6\n"
            "read                    2             100                200            0.0\n\n");
  std::vector<std::string> bad;
  AccessFilter filter;
  filter.uids = parseIds("5,abc,7", &bad);
  EXPECT_EQ(bad, std::vector<std::string>{"abc"});
  EXPECT_FALSE(filter.takes(line));
  line.uid = 7;
  EXPECT_TRUE(filter.takes(line));
}

}  // namespace aquifer::cli
