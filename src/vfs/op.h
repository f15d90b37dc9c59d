// One operation as the statistics and the access log see it: counted, timed, and, if somebody reads the log or it was slow, a line.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "meta/ops/context.h"
#include "vfs/access_log.h"

namespace aquifer::vfs {

enum class OpKind : uint8_t {
  lookup, getattr, setattr, mknod, mkdir, unlink, rmdir, rename, link, symlink, readlink, open, create, tmpfile, read, write, flush,
  fsync, release, lseek, fallocate, copyFileRange, opendir, readdir, releasedir, fsyncdir, statfs, syncfs, access, setxattr, getxattr,
  listxattr, removexattr, getlk, setlk, flock, ioctl, count
};
const char* opName(OpKind kind);

// Statistics of all operations of the process (fuse_ops_…). Thread-safe.
void countOp(OpKind kind, int64_t nanos, Code code);
void countReadBytes(size_t n);
void countWrittenBytes(size_t n);

class Op {
 public:
  // quiet: counted, but not shown in the log (most operations on the virtual files).
  Op(AccessLog& log, const meta::Context& ctx, OpKind kind, bool quiet = false)
      : log_(log), ctx_(ctx), kind_(kind), quiet_(quiet), start_(monotonicNanos()) {}

  // Ends the operation and hands `result` (Status or Result) through. `describe(result)` gives the arguments and results of the log
  // line; it runs only when a line is written.
  template <class R, class Describe>
  R done(R result, Describe&& describe) {
    int64_t took = monotonicNanos() - start_;
    countOp(kind_, took, result.code());
    if (!quiet_ && (log_.active() || took >= kSlowNanos)) write(describe(result), result.code(), took);
    return result;
  }

 private:
  static constexpr int64_t kSlowNanos = 10'000'000'000;
  void write(const std::string& what, Code code, int64_t took);
  AccessLog& log_;
  const meta::Context& ctx_;
  const OpKind kind_;
  const bool quiet_;
  const int64_t start_;
};

}  // namespace aquifer::vfs
