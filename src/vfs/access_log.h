// `.accesslog`: every open descriptor has its own bounded queue of lines. Nobody reading costs one atomic load per operation.
// Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meta/model/types.h"
#include "meta/ops/context.h"

namespace aquifer::vfs {

class AccessLog {
 public:
  class Reader {
   public:
    // Collects lines for up to a second or until `out` is full; "#\n" if nothing came. Fewer calls than lines: reading the log is
    // itself logged, so a read that returned at once would feed itself.
    size_t read(std::span<std::byte> out, const std::function<bool()>& interrupted);

   private:
    friend class AccessLog;
    std::mutex mu_;
    std::condition_variable more_;
    std::deque<std::string> lines_;
    std::string rest_;   // of a line that did not fit
  };

  std::shared_ptr<Reader> open();
  void close(const std::shared_ptr<Reader>& reader);
  bool active() const { return active_.load(std::memory_order_relaxed) > 0; }
  void push(const std::string& line);   // with its newline

 private:
  static constexpr size_t kQueueLines = 10240;
  std::atomic<int> active_{0};
  std::mutex mu_;
  std::vector<std::shared_ptr<Reader>> readers_;
};

// `2026.12.01 00:42:54.841091 [uid:0,gid:0,pid:1] <what> - <result> <0.000446>\n`. unixMicros: when the operation began.
std::string logLine(int64_t unixNanos, const meta::Context& ctx, std::string_view what, std::string_view result, int64_t tookNanos);
// " (ino,[mode:0mode,nlink,uid,gid,atime,mtime,ctime,length])"
std::string logEntry(meta::Ino ino, const meta::Attr& attr);
// "-rw-r--r--" of a mode with type bits; an unknown type is '?'.
std::string modeString(uint32_t modeWithType);
uint32_t typeBits(meta::FileType type);
// Names as the log shows them: control bytes, backquotes and bytes that are not UTF-8 escaped.
std::string logName(std::string_view name);

}  // namespace aquifer::vfs
