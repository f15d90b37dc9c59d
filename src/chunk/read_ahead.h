// Recognises sequential streams of one reader and says what to fetch ahead. Two streams at a time, so that a copy within a file,
// or an archive's index and body, do not disturb each other. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace aquifer::chunk {

class ReadAhead {
 public:
  ReadAhead(uint64_t blockSize, uint64_t maxWindow, uint64_t memory);
  struct Range {
    uint64_t off = 0, len = 0;
  };
  // The request [off, off+len) has come; `used` is the memory in use. len 0: nothing to fetch.
  Range next(uint64_t off, uint64_t len, uint64_t fileLength, uint64_t used);

 private:
  struct Stream {
    uint64_t last = 0, total = 0, window = 0;   // where it has come to, bytes so far, how far ahead
    uint64_t fetchedTo = 0;
    uint64_t usedAt = 0;                        // of clock_; 0: never
  };
  Stream& streamFor(uint64_t off, uint64_t len);
  const uint64_t block_, maxWindow_, memory_;
  std::mutex mu_;
  std::array<Stream, 2> streams_;
  uint64_t clock_ = 0;
};

}  // namespace aquifer::chunk
