#include "meta/ops/changelog.h"

#include <fmt/core.h>

#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

bool MetaImpl::logging() const { return store_->traits().changeLog && formatNow()->changeLog; }

void MetaImpl::log(MetaTxn& tx, const std::string& entry) {
  auto time = now();
  auto number = txnNumber_.fetch_add(1, std::memory_order_relaxed) + 1;
  tx.log(fmt::format("{}.{:09}|{}|({},{})", time.sec, time.nsec, entry, sid(), number));
}

}  // namespace aquifer::meta
