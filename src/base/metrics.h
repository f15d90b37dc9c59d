// Process-wide metrics: counters, gauges, histograms, in families with labels. Updates are lock-free; registration takes a
// lock, so keep the returned reference. Exported as Prometheus text (/metrics) and as `.stats` text.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aquifer::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {  // also a gauge: may go down
 public:
  void add(double v = 1) {
    double old = v_.load(std::memory_order_relaxed);
    while (!v_.compare_exchange_weak(old, old + v, std::memory_order_relaxed)) {}
  }
  void set(double v) { v_.store(v, std::memory_order_relaxed); }
  double value() const { return v_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> v_{0};
};

class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double v);
  uint64_t count() const;
  double sum() const;
  const std::vector<double>& bounds() const { return bounds_; }
  uint64_t bucket(size_t i) const { return buckets_[i].load(std::memory_order_relaxed); }  // not cumulative

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<uint64_t>> buckets_;  // bounds_.size() + 1
  std::atomic<uint64_t> count_{0};
  Counter sum_;
};

std::vector<double> exponentialBuckets(double start, double factor, int count);
std::vector<double> linearBuckets(double start, double width, int count);

// Names without the "juicefs_" prefix. The same (name, labels) gives the same object; references live as long as the process.
Counter& counter(std::string_view name, std::string_view help, const Labels& labels = {});
Counter& gauge(std::string_view name, std::string_view help, const Labels& labels = {});
void gaugeCallback(std::string_view name, std::string_view help, std::function<double()> read, const Labels& labels = {});
Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> bounds, const Labels& labels = {});
// Families whose label sets come and go (quotas): called at export.
using Emit = std::function<void(std::string_view name, std::string_view help, const Labels&, double)>;
void collector(std::function<void(const Emit& emit)> collect);

void registerProcessMetrics();         // uptime, cpu_usage, memory, process_*; uptime counts from the first call
void setConstLabels(Labels labels);   // instance, mp, vol_name, juicefs_version, custom
std::string prometheusText();
std::string statsText();              // `.stats`: name value; histograms as _total and _sum; values of method, errno and stage appended

}  // namespace aquifer::metrics
