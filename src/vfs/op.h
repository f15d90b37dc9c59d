// One operation as the statistics and the access log see it: counted, timed, and, if somebody reads the log or it was slow, a line.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/stages.h"
#include "base/status.h"
#include "meta/ops/context.h"
#include "meta/store/change_feed.h"
#include "vfs/access_log.h"
#include "vfs/slow_ops.h"

namespace aquifer::vfs {

enum class OpKind : uint8_t {
  lookup, getattr, setattr, mknod, mkdir, unlink, rmdir, rename, link, symlink, readlink, open, create, tmpfile, read, write, flush,
  fsync, release, lseek, fallocate, copyFileRange, opendir, readdir, releasedir, fsyncdir, statfs, syncfs, access, setxattr, getxattr,
  listxattr, removexattr, getlk, setlk, flock, ioctl, count
};
const char* opName(OpKind kind);

// Statistics of all operations of the process (fuse_ops_…). Thread-safe.
void countOp(OpKind kind, int64_t nanos, Code code, const StageNanos& stages);
// Of this process. Thread-safe.
SlowOps& slowOps();
void countReadBytes(size_t n);
void countWrittenBytes(size_t n);

class Op {
 public:
  // quiet: counted, but not shown in the log (most operations on the virtual files).
  Op(AccessLog& log, const meta::Context& ctx, OpKind kind, bool quiet = false)
      : log_(log), ctx_(ctx), kind_(kind), quiet_(quiet), start_(monotonicNanos()), stages_(ScopedStage::sums()) {}

  // Ends the operation and hands `result` (Status or Result) through. `describe(result)` gives the arguments and results of the log
  // line; it runs only when a line is written.
  template <class R, class Describe>
  R done(R result, Describe&& describe) {
    const int64_t now = monotonicNanos(), took = now - start_;
    const StageNanos stages = ScopedStage::since(stages_);
    countOp(kind_, took, result.code(), stages);
    if (!quiet_) {
      if (slowOps().amongSlowest(now, took)) remember(describe(result), now, took, stages);
      else slowOps().count(now, took, stages);
    }
    if (!quiet_ && (log_.active() || took >= kSlowNanos)) write(describe(result), result.code(), took);
    return result;
  }

 private:
  static constexpr int64_t kSlowNanos = 10'000'000'000;
  void remember(std::string what, int64_t now, int64_t took, const StageNanos& stages);
  void write(const std::string& what, Code code, int64_t took);
  AccessLog& log_;
  const meta::Context& ctx_;
  const OpKind kind_;
  const bool quiet_;
  const int64_t start_;
  const StageNanos stages_;   // of the thread when the operation began
  const meta::CallerKnows asked_;   // what it commits is what the kernel has asked for
};

}  // namespace aquifer::vfs
