// Walks over directories and over the hourly folders of the trash.
#pragma once

#include <functional>

#include "base/status.h"
#include "meta/ops/meta.h"

namespace aquifer::cli {

// Every entry of one directory, with attributes where the node exists. An error of `visit` ends the walk.
Status forEachEntry(meta::Meta& meta, meta::Ino dir, const std::function<Status(const meta::DirEntry&)>& visit);
// The hourly folders.
Status forEachTrashHour(meta::Meta& meta, const std::function<Status(const meta::DirEntry&)>& visit);
// Every entry in the trash, with attributes where the node exists. An error of `visit` ends the walk. No trash: nothing to visit.
Status forEachTrashEntry(meta::Meta& meta, const std::function<Status(const meta::DirEntry&)>& visit);

}  // namespace aquifer::cli
