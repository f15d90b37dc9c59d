// Cells of the tables of `bench` and `objbench`. Functions without state.
#pragma once

#include <string>

namespace aquifer::cli {

// Green where the figure is good, red where it is bad, yellow between; plain without `colour`.
struct Range {
  double low, high;   // for values low is bad, for costs high is
};
std::string valueCell(const std::string& text, double v, Range range, bool colour);
std::string costCell(const std::string& text, double v, Range range, bool colour);

// Empties the kernel's page cache (root, or sudo), unless SKIP_DROP_CACHES=true; a warning where it cannot.
void dropPageCache();
// Runs body(thread) on `threads` threads and waits for all of them; seconds.
template <class F>
double onThreads(int threads, F&& body);

}  // namespace aquifer::cli

#include <thread>
#include <vector>

#include "base/clock.h"

namespace aquifer::cli {
template <class F>
double onThreads(int threads, F&& body) {
  auto start = monotonicNanos();
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back([&body, i] { body(i); });
  for (auto& t : running) t.join();
  return static_cast<double>(monotonicNanos() - start) / 1e9;
}
}  // namespace aquifer::cli
