// Hands out ids from batches that are taken off a counter of the database. Thread-safe.
// The next batch is fetched by whoever finds that little is left, while the others go on with the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "base/status.h"

namespace aquifer::meta {

class IdBatch {
 public:
  // fetch(n) -> the first id of n fresh ones. `low`: fetch ahead when no more than this many are left. `first`: ids below are skipped.
  IdBatch(uint64_t batch, uint64_t low, uint64_t first, std::function<Result<uint64_t>(uint64_t n)> fetch);
  Result<uint64_t> next();

 private:
  const uint64_t batch_, low_, first_;
  const std::function<Result<uint64_t>(uint64_t)> fetch_;
  std::mutex mu_;                      // guards the ranges; never held over a fetch
  std::mutex fetching_;                // one fetch at a time
  uint64_t next_ = 0, end_ = 0;        // [next_, end_) is handed out now
  uint64_t spare_ = 0, spareEnd_ = 0;  // fetched ahead
};

}  // namespace aquifer::meta
