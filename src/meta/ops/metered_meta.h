// Counts and times the calls that a mount makes: meta_ops_total, meta_ops_duration_seconds and their histogram, under the names that
// JuiceFS's dashboards know. Calls that it does not count (open, locks, tools) pass through unmeasured, as there.
#pragma once

#include <memory>

#include "meta/ops/meta.h"

namespace aquifer::meta {

std::unique_ptr<Meta> metered(std::unique_ptr<Meta> meta);

}  // namespace aquifer::meta
