#include "base/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/metrics_text.h"

namespace aquifer::metrics {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Metrics, NumbersAsText) {
  EXPECT_EQ(shortest(0), "0");
  EXPECT_EQ(shortest(1), "1");
  EXPECT_EQ(shortest(-2.5), "-2.5");
  EXPECT_EQ(shortest(999999), "999999");
  EXPECT_EQ(shortest(1048576), "1.048576e+06");
  EXPECT_EQ(shortest(0.0001), "0.0001");
  EXPECT_EQ(shortest(0.00001), "1e-05");
  EXPECT_EQ(shortest(INFINITY), "+Inf");
  EXPECT_EQ(shortest(NAN), "NaN");
  EXPECT_EQ(shortestFixed(1048576), "1048576");
  EXPECT_EQ(shortestFixed(0.00001), "0.00001");
  EXPECT_EQ(shortestFixed(1e21), "1000000000000000000000");
  EXPECT_EQ(shortestFixed(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(shortestFixed(9223372036854775807.0), "9223372036854776000");
  EXPECT_EQ(shortestFixed(0), "0");
  EXPECT_EQ(shortestFixed(-0.0), "0");
  EXPECT_EQ(shortestFixed(-12.5), "-12.5");
  EXPECT_EQ(shortestFixed(5e-324).size(), 326u);
  EXPECT_EQ(shortestFixed(100), "100");
  EXPECT_EQ(shortestFixed(1e308).size(), 309u);
}

TEST(Metrics, SameNameAndLabelsGiveTheSameObject) {
  Counter& a = counter("t_same", "h", {{"x", "1"}, {"a", "2"}});
  Counter& b = counter("t_same", "h", {{"a", "2"}, {"x", "1"}});
  Counter& c = counter("t_same", "h", {{"x", "2"}, {"a", "2"}});
  EXPECT_EQ(&a, &b);
  EXPECT_NE(&a, &c);
  EXPECT_EQ(&histogram("t_same_h", "h", {1, 2}), &histogram("t_same_h", "h", {1, 2}));
}

TEST(Metrics, PrometheusText) {
  setConstLabels({{"vol_name", "v\"1\\"}, {"mp", "/mnt"}});
  counter("t_prom_total", "Things\nthat happen.", {{"method", "open"}}).add(3);
  gauge("t_prom_gauge", "A level.").set(-1.5);
  Histogram& h = histogram("t_prom_seconds", "Time.", {0.1, 1});
  h.observe(0.05);
  h.observe(0.1);  // a bound belongs to the bucket below it
  h.observe(7);
  const std::string text = prometheusText();
  EXPECT_TRUE(contains(text,
                       "# HELP juicefs_t_prom_total Things\\nthat happen.\n# TYPE juicefs_t_prom_total counter\n"
                       "juicefs_t_prom_total{method=\"open\",mp=\"/mnt\",vol_name=\"v\\\"1\\\\\"} 3\n"));
  EXPECT_TRUE(
      contains(text, "# TYPE juicefs_t_prom_gauge gauge\njuicefs_t_prom_gauge{mp=\"/mnt\",vol_name=\"v\\\"1\\\\\"} -1.5\n"));
  EXPECT_TRUE(contains(text, "juicefs_t_prom_seconds_bucket{mp=\"/mnt\",vol_name=\"v\\\"1\\\\\",le=\"0.1\"} 2\n"));
  EXPECT_TRUE(contains(text, "juicefs_t_prom_seconds_bucket{mp=\"/mnt\",vol_name=\"v\\\"1\\\\\",le=\"1\"} 2\n"));
  EXPECT_TRUE(contains(text, "juicefs_t_prom_seconds_bucket{mp=\"/mnt\",vol_name=\"v\\\"1\\\\\",le=\"+Inf\"} 3\n"));
  EXPECT_TRUE(contains(text, "juicefs_t_prom_seconds_sum{mp=\"/mnt\",vol_name=\"v\\\"1\\\\\"} 7.15\n"));
  EXPECT_TRUE(contains(text, "juicefs_t_prom_seconds_count{mp=\"/mnt\",vol_name=\"v\\\"1\\\\\"} 3\n"));
  setConstLabels({});
  EXPECT_TRUE(contains(prometheusText(), "\njuicefs_t_prom_gauge -1.5\n"));
}

TEST(Metrics, StatsText) {
  setConstLabels({{"mp", "/mnt"}});
  counter("t_stats_ops", "h", {{"method", "read"}}).add(2'000'000);
  counter("t_stats_class", "h", {{"method", "GET"}, {"storage_class", "STANDARD"}}).add(5);
  counter("t_stats_errors", "h", {{"errno", "ENOENT"}}).add();
  histogram("t_stats_size", "h", {10}).observe(4.5);
  const std::string text = statsText();
  EXPECT_TRUE(contains(text,
                       "juicefs_t_stats_class_GET 5\njuicefs_t_stats_errors_ENOENT 1\njuicefs_t_stats_ops_read 2000000\n"
                       "juicefs_t_stats_size_total 1\njuicefs_t_stats_size_sum 4.5\n"));
  EXPECT_FALSE(contains(text, "mnt"));
  setConstLabels({});
}

TEST(Metrics, CallbacksAndCollectors) {
  gaugeCallback("t_read", "h", [] { return 42.0; });
  collector([](const auto& emit) {
    emit("t_quota", "Quota.", {{"inode", "7"}}, 100);
    emit("t_quota", "Quota.", {{"inode", "8"}}, 200);
    counter("t_registered_meanwhile", "h");  // must not deadlock
  });
  const std::string text = prometheusText();
  EXPECT_TRUE(contains(text, "juicefs_t_read 42\n"));
  EXPECT_TRUE(contains(text,
                       "# HELP juicefs_t_quota Quota.\n# TYPE juicefs_t_quota gauge\njuicefs_t_quota{inode=\"7\"} "
                       "100\njuicefs_t_quota{inode=\"8\"} 200\n"));
}

TEST(Metrics, ManyThreads) {
  Counter& c = counter("t_threads", "h");
  Histogram& h = histogram("t_threads_h", "h", exponentialBuckets(1, 2, 5));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; i++) {
        c.add();
        h.observe(i);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(c.value(), 4000);
  EXPECT_EQ(h.count(), 4000u);
  EXPECT_EQ(h.sum(), 4 * 499500);
}

TEST(Metrics, Process) {
  registerProcessMetrics();
  registerProcessMetrics();
  const std::string text = statsText();
  for (const char* name : {"juicefs_uptime ", "juicefs_cpu_usage ", "juicefs_memory ", "juicefs_process_open_fds "}) {
    const size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(std::stod(text.substr(at + std::string(name).size())), 0) << name;
  }
}

}  // namespace
}  // namespace aquifer::metrics
