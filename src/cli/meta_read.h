// Small reads of the metadata that commands need beside meta::Meta. Thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "meta/model/format.h"
#include "meta/ops/meta.h"

namespace aquifer::cli {

// The setting exactly as it is stored: secrets still encrypted, KeyEncrypted as written. Code::notFormatted without one.
Result<meta::Format> storedFormat(meta::Meta& meta);

struct Usage {
  int64_t space = 0, inodes = 0;   // bytes, count; never negative
};
Result<Usage> volumeUsage(meta::Meta& meta);

}  // namespace aquifer::cli
