// Metrics of a mount as a whole: its process, and the usage and quotas of its volume.
#pragma once

#include <string>

#include "meta/ops/meta.h"

namespace aquifer::cli {

// `meta` must stay until the last export. `subdir`: what the mount shows, "" for the whole volume.
void registerMountMetrics(meta::Meta& meta, const std::string& subdir);

}  // namespace aquifer::cli
