#include "cli/meta_read.h"

#include <algorithm>

#include "meta/store/with_txn.h"

namespace aquifer::cli {

Result<meta::Format> storedFormat(meta::Meta& meta) {
  std::string json;
  TRY(meta::withRead(meta.store(), "setting", [&](meta::MetaTxn& txn) -> Status {
    TRY_ASSIGN(auto text, txn.find<std::string>(meta::key::setting()));
    if (!text) return Code::notFormatted;
    json = *text;
    return {};
  }));
  return meta::parseFormat(json);
}

Result<Usage> volumeUsage(meta::Meta& meta) {
  Usage usage;
  TRY(meta::withRead(meta.store(), "usage", [&](meta::MetaTxn& txn) -> Status {
    TRY_ASSIGN(auto space, txn.find<int64_t>(meta::key::counter(meta::counter::kUsedSpace)));
    TRY_ASSIGN(auto inodes, txn.find<int64_t>(meta::key::counter(meta::counter::kTotalInodes)));
    usage = {std::max<int64_t>(space.value_or(0), 0), std::max<int64_t>(inodes.value_or(0), 0)};
    return {};
  }));
  return usage;
}

}  // namespace aquifer::cli
