#include "vfs/op.h"

#include <string.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/log.h"
#include "base/metrics.h"
#include "vfs/special.h"

namespace aquifer::vfs {

namespace {
constexpr std::array<const char*, static_cast<size_t>(OpKind::count)> kNames = {
    "lookup",   "getattr", "setattr",   "mknod",           "mkdir",    "unlink",   "rmdir",    "rename",    "link",
    "symlink",  "readlink", "open",     "create",          "tmpfile",  "read",     "write",    "flush",     "fsync",
    "release",  "lseek",   "fallocate", "copy_file_range", "opendir",  "readdir",  "releasedir", "fsyncdir", "statfs",
    "syncfs",   "access",  "setxattr",  "getxattr",        "listxattr", "removexattr", "getlk", "setlk",    "flock",
    "ioctl"};

struct OpMetrics {
  std::array<metrics::Counter*, static_cast<size_t>(OpKind::count)> total{}, seconds{};
  metrics::Histogram& durations =
      metrics::histogram("fuse_ops_durations_histogram_seconds", "Operations latencies in seconds.", metrics::exponentialBuckets(0.00001, 1.8, 29));
  metrics::Histogram& readBytes = metrics::histogram("fuse_read_size_bytes", "size of read distributions.", metrics::linearBuckets(4096, 4096, 32));
  metrics::Histogram& writtenBytes =
      metrics::histogram("fuse_written_size_bytes", "size of write distributions.", metrics::linearBuckets(4096, 4096, 32));
  // Operations that nobody used have no line in the statistics, as readers of `.stats` expect: made at the first use.
  std::array<std::once_flag, static_cast<size_t>(OpKind::count)> made;

  std::array<std::array<std::atomic<metrics::Counter*>, kStages + 1>, static_cast<size_t>(OpKind::count)> stages{};

  void addStage(size_t op, size_t stage, int64_t nanos) {
    auto* counter = stages[op][stage].load(std::memory_order_acquire);
    if (!counter) {   // the registry gives everybody the same one
      counter = &metrics::counter("stage_seconds_total", "Where the time of operations went.",
                                  {{"method", kNames[op]}, {"stage", stageName(static_cast<Stage>(stage))}});
      stages[op][stage].store(counter, std::memory_order_release);
    }
    counter->add(static_cast<double>(nanos) * 1e-9);
  }

  void use(size_t i) {
    std::call_once(made[i], [&] {
      total[i] = &metrics::counter("fuse_ops_total", "Total number of operations.", {{"method", kNames[i]}});
      seconds[i] = &metrics::counter("fuse_ops_durations_seconds", "Operations latencies in seconds.", {{"method", kNames[i]}});
    });
  }
};
OpMetrics& opMetrics() {
  static auto* m = new OpMetrics;  // never destroyed: threads may still count while the process ends
  return *m;
}
}  // namespace

const char* opName(OpKind kind) { return kNames[static_cast<size_t>(kind)]; }

SlowOps& slowOps() {
  static auto* ops = new SlowOps;  // never destroyed, as above
  return *ops;
}

void countOp(OpKind kind, int64_t nanos, Code code, const StageNanos& stages) {
  auto& m = opMetrics();
  size_t i = static_cast<size_t>(kind);
  m.use(i);
  double s = static_cast<double>(nanos) / 1e9;
  m.total[i]->add();
  m.seconds[i]->add(s);
  m.durations.observe(s);
  int64_t rest = nanos;
  for (size_t stage = 0; stage < kStages; ++stage) {
    if (stages[stage] <= 0) continue;
    m.addStage(i, stage, stages[stage]);
    rest -= stages[stage];
  }
  if (rest > 0) m.addStage(i, kStages, rest);
  if (code != Code::ok) {
    const char* name = strerrorname_np(toErrno(code));
    metrics::counter("fuse_ops_io_errors", "number of errors, by errno.", {{"errno", name ? name : "EIO"}}).add();
  }
}

void countReadBytes(size_t n) { opMetrics().readBytes.observe(static_cast<double>(n)); }
void countWrittenBytes(size_t n) { opMetrics().writtenBytes.observe(static_cast<double>(n)); }

// Readers of the access log wait in their reads on purpose.
void Op::remember(std::string what, int64_t now, int64_t took, const StageNanos& stages) {
  if (isSpecialFile(inodeOfArguments(what))) return;
  slowOps().count(now, took, stages);
  slowOps().keep({now, took, opName(kind_), std::move(what), ctx_.uid, ctx_.pid, stages});
}

void Op::write(const std::string& what, Code code, int64_t took) {
  std::string line = logLine(unixNanos() - took, ctx_, std::string(opName(kind_)) + " " + what,
                             code == Code::ok ? "OK" : codeText(static_cast<Code>(toErrno(code))), took);
  if (log_.active()) log_.push(line);
  if (took >= kSlowNanos) {
    line.pop_back();
    LOG_WARN("slow operation: {}", line);
  }
}

}  // namespace aquifer::vfs
