#include "meta/jobs/lease.h"

#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

Result<bool> takeLease(MetaImpl& meta, std::string_view counter, int64_t now, int64_t interval) {
  const auto record = key::counter(counter);
  bool won = false;
  const auto look = [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(const auto last, tx.find<int64_t>(record));
    won = last.value_or(0) <= now - interval;
    return {};
  };
  TRY(meta.read("lease", look));  // the losers, who are many, do not write
  if (!won) return false;
  TRY(meta.txn(
      "lease",
      [&](MetaTxn& tx) -> Status {
        TRY(look(tx));
        if (!won) return {};
        tx.put(record, now);
        if (meta.logging()) meta.log(tx, changelog::set(counter, now));
        return {};
      },
      // Unknown: look again. If the commit happened this round is lost, and done by somebody in the next.
      [](MetaTxn&) -> Result<bool> { return false; }));
  return won;
}

}  // namespace aquifer::meta
