#include "cli/why_report.h"

#include <gtest/gtest.h>

namespace aquifer::cli {

TEST(WhyReport, NamesTheStage) {
  auto r = parseWhyReply(
      R"json({"seconds":60,"complete":true,"operations":3,"us":2000000,"stages_us":{"network":1900000,"metadata":90000,"other":10000},
          "slowest":[{"op":"read","arguments":"(5,0,10): 10","inode":5,"path":"/d/f","uid":0,"pid":42,"ago_ms":1500,"us":1500000,
                      "stages_us":{"network":1490000,"other":10000}},
                     {"op":"getattr","arguments":"(9)","inode":9,"path":"","pid":1,"ago_ms":0,"us":900,"stages_us":{}}]})json");
  ASSERT_TRUE(r) << r.status().text();
  EXPECT_EQ(heaviestStage(r->stages), "network");
  EXPECT_EQ(whyText(*r, "/mnt", 10),
            "/mnt: 3 operations in the last 60 seconds took 2.00 s\n"
            "  object storage 1.90 s (95%), metadata 90 ms (4%)\n"
            "\nSlowest:\n"
            "   1.50 s  read     /d/f  [pid 42, 1.50 s ago]\n"
            "           object storage 1.49 s (99%)\n"
            "   900 us  getattr  inode 9  [pid 1, 0 us ago]\n"
            "           no time worth naming\n"
            "\nThe object storage costs the time: look at its latency and bandwidth, or keep more in the cache (warmup, --cache-size).\n");
}

TEST(WhyReport, RefusesOtherAnswers) {
  EXPECT_FALSE(parseWhyReply("{}"));
  EXPECT_FALSE(parseWhyReply("nonsense"));
  EXPECT_FALSE(parseWhyReply(R"({"slowest":[{"op":5}]})"));
  auto quiet = parseWhyReply(R"({"seconds":60,"slowest":[]})");
  ASSERT_TRUE(quiet);
  EXPECT_EQ(whyText(*quiet, "/mnt/d", 5), "Nothing slow happened at /mnt/d in the last 60 seconds.\n");
}

}  // namespace aquifer::cli
