// The entries of all hourly folders in the trash.
#pragma once

#include <functional>

#include "base/status.h"
#include "meta/ops/meta.h"

namespace aquifer::cli {

// Every entry, with attributes where the node exists. An error of `visit` ends the walk. No trash: nothing to visit.
Status forEachTrashEntry(meta::Meta& meta, const std::function<Status(const meta::DirEntry&)>& visit);

}  // namespace aquifer::cli
