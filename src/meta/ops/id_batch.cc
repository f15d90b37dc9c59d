#include "meta/ops/id_batch.h"

#include <algorithm>
#include <utility>

namespace aquifer::meta {

IdBatch::IdBatch(uint64_t batch, uint64_t low, uint64_t first, std::function<Result<uint64_t>(uint64_t)> fetch)
    : batch_(batch), low_(low), first_(first), fetch_(std::move(fetch)) {}

Result<uint64_t> IdBatch::next() {
  for (;;) {
    uint64_t id = 0;
    bool got = false, ahead = false;
    {
      std::lock_guard lock(mu_);
      if (next_ >= end_) {
        next_ = std::exchange(spare_, 0);
        end_ = std::exchange(spareEnd_, 0);
      }
      if (next_ < first_ && next_ < end_) next_ = std::min(first_, end_);
      if (next_ < end_) {
        id = next_++;
        got = true;
        ahead = end_ - next_ <= low_ && spare_ == spareEnd_;
      }
    }
    if (got && !ahead) return id;
    std::unique_lock fetching(fetching_, std::defer_lock);
    if (got) {
      if (!fetching.try_lock()) return id;
    } else {
      fetching.lock();
    }
    {
      std::lock_guard lock(mu_);
      if (spare_ < spareEnd_) {  // somebody else was faster
        if (got) return id;
        continue;
      }
    }
    auto start = fetch_(batch_);
    if (!start) {
      if (got) return id;  // whoever needs the next batch will meet the error
      return start;
    }
    {
      std::lock_guard lock(mu_);
      spare_ = *start;
      spareEnd_ = *start + batch_;
    }
    if (got) return id;
  }
}

}  // namespace aquifer::meta
