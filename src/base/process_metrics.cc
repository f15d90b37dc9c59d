#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"
#include "base/metrics.h"

namespace aquifer::metrics {

namespace {

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Field 0 (whole size) or 1 (resident) of statm, in bytes.
double memoryBytes(int field) {
  unsigned long long pages[2] = {0, 0};
  FILE* f = fopen("/proc/self/statm", "re");
  if (!f) return 0;
  const int n = fscanf(f, "%llu %llu", &pages[0], &pages[1]);
  fclose(f);
  return n == 2 ? static_cast<double>(pages[field]) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

double openDescriptors() {
  DIR* dir = opendir("/proc/self/fd");
  if (!dir) return 0;
  double count = -3;  // ".", "..", and the one of this very listing
  while (readdir(dir)) count++;
  closedir(dir);
  return count;
}

double descriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

void registerProcessMetrics() {
  static const int64_t started = monotonicNanos();
  static const double startTime = static_cast<double>(unixNanos()) / 1e9;
  gaugeCallback("uptime", "Total running time in seconds.", [] { return static_cast<double>(monotonicNanos() - started) / 1e9; });
  gaugeCallback("cpu_usage", "Accumulated CPU usage in seconds.", cpuSeconds);
  gaugeCallback("memory", "Used memory in bytes.", [] { return memoryBytes(1); });
  gaugeCallback("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", cpuSeconds);
  gaugeCallback("process_resident_memory_bytes", "Resident memory size in bytes.", [] { return memoryBytes(1); });
  gaugeCallback("process_virtual_memory_bytes", "Virtual memory size in bytes.", [] { return memoryBytes(0); });
  gaugeCallback("process_open_fds", "Number of open file descriptors.", openDescriptors);
  gaugeCallback("process_max_fds", "Maximum number of open file descriptors.", descriptorLimit);
  gaugeCallback("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", [] { return startTime; });
}

}  // namespace aquifer::metrics
