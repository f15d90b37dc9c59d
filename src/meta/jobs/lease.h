// Which client does a job this time: a counter holds when it was last started, and whoever finds it old enough and moves it
// forward has won. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace aquifer::meta {

class MetaImpl;

// True if this client got the round: the stored time was at most now - interval (seconds).
Result<bool> takeLease(MetaImpl& meta, std::string_view counter, int64_t now, int64_t interval);

}  // namespace aquifer::meta
