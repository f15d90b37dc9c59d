// The leased jobs, one pass each. They stop early, with ok, when `goOn` says no. *removed: what was deleted (sessions, files,
// slices, entries). Records that fail are skipped with a warning and left for the next round. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"

namespace aquifer::meta {

class MetaImpl;
using GoOn = std::function<bool()>;

Status cleanStaleSessions(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed);
// Deleted files whose delfile record is at least `age` seconds old.
Status cleanDeletedFiles(MetaImpl& meta, int64_t now, int64_t age, const GoOn& goOn, uint64_t* removed);
// Slices that nobody refers to.
Status cleanUnusedSlices(MetaImpl& meta, const GoOn& goOn, uint64_t* removed);
// One hour directory of the trash, empty by now. It is an entry of the trash root, whose own record never changes.
Status removeTrashHour(MetaImpl& meta, const std::string& name, uint64_t ino);
// Hours of the trash, and slices replaced by compaction, that are older than the volume keeps them.
Status cleanTrash(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed);
Status cleanDelayedSlices(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed);
// Change-log entries beyond the age and number that the volume keeps.
Status cleanChangeLog(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed);
// Trees of clones that were never finished.
Status cleanDetached(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed);

}  // namespace aquifer::meta
