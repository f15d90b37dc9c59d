// What the metrics were at one moment, for the two text forms. Between metrics.cc (which keeps them) and metrics_text.cc.
#pragma once

#include <map>
#include <string>

#include "base/metrics.h"

namespace aquifer::metrics {

enum class Kind { counter, gauge, histogram };

struct Series {
  double value = 0;
  const Histogram* histogram = nullptr;  // lives as long as the process
};

struct Family {
  std::string help;
  Kind kind = Kind::gauge;
  std::map<Labels, Series> series;  // labels are sorted by name
};

struct Snapshot {
  Labels constLabels;
  std::map<std::string, Family> families;  // names without prefix
};

Snapshot snapshot();

// 1.5, 1e+06, +Inf: the shortest text that reads back as `v`, with an exponent below 1e-4 and from 1e6 on, as exporters of
// Prometheus text write it.
std::string shortest(double v);
// 1000000, 0.00001: the same without an exponent.
std::string shortestFixed(double v);

}  // namespace aquifer::metrics
