// A bound on the page cache that this process fills by its own file I/O. A container is charged for the pages that it brings in, dirty
// ones above all, and a kernel that cannot write them fast enough kills it; so what has been written is handed to the disk at once, and
// whoever wants to write more than the bound allows waits for the oldest of it to reach the disk and drops it from memory. What has been
// read is dropped at once: those who read it again have the kernel's copy of the file that they read.
//
// Off until install(): then every function here does nothing. Thread-safe.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace aquifer {

class PageLedger {
 public:
  // bound: bytes, counted in whole pages; files: at most so many ranges are remembered, each holds a descriptor.
  PageLedger(uint64_t bound, size_t files);
  ~PageLedger();
  // Waits until `bytes` more fit. More than the whole bound is let in when nothing else is there.
  void reserve(uint64_t bytes);
  void giveBack(uint64_t bytes);
  // `reserved` bytes have become the pages [off, off+bytes) of `fd`, which the caller may close.
  void wrote(int fd, uint64_t off, uint64_t bytes, uint64_t reserved);
  void drain();   // all to disk and out of memory
  uint64_t held() const;   // bytes reserved or waiting to be dropped
  uint64_t bound() const { return bound_; }

  // The process's ledger; nullptr until installed. Install once, before the threads that write.
  static PageLedger* installed();
  static void install(uint64_t bound);

 private:
  struct Range {
    int fd;
    uint64_t off, bytes, charged;
  };
  bool dropOldest(std::unique_lock<std::mutex>& lock);   // false: none is waiting

  const uint64_t bound_;
  const size_t files_;
  mutable std::mutex mu_;
  std::condition_variable freed_;
  std::deque<Range> ranges_;
  uint64_t held_ = 0;
};

// Room for a write of `bytes`, from before it until its pages have been dropped.
class PageGrant {
 public:
  explicit PageGrant(uint64_t bytes);
  ~PageGrant();
  PageGrant(const PageGrant&) = delete;
  PageGrant& operator=(const PageGrant&) = delete;
  void wrote(int fd, uint64_t off, uint64_t bytes);   // once

 private:
  uint64_t bytes_;
};

// Bytes [off, off+bytes) of fd have been read, and the pages may go. bytes 0: to the end of the file.
void dropReadPages(int fd, uint64_t off, uint64_t bytes);
// The pages of all regular files that this process has open: clean ones go, for dirty ones the write is started.
void dropPagesOfOpenFiles();

}  // namespace aquifer
