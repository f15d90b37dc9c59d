// The algebra of POSIX record locks: which ranges conflict, and what is left of an owner's ranges after a change.
// Pure functions, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "meta/model/types.h"

namespace aquifer::meta {

inline constexpr uint32_t kRangeRead = 0, kRangeWrite = 1, kRangeUnlock = 2;
inline constexpr size_t kMaxLockRanges = 10'000;  // of one owner on one file

bool overlaps(const LockRange& a, const LockRange& b);
// The first range of another owner that stands in the way of `want`.
struct LockConflict {
  SessionId sid = 0;
  uint64_t owner = 0;
  LockRange range;
};
std::optional<LockConflict> findConflict(const std::vector<PlockEntry>& table, SessionId sid, uint64_t owner,
                                         const LockRange& want);
// All other owners in the way.
std::vector<LockConflict> allConflicts(const std::vector<PlockEntry>& table, SessionId sid, uint64_t owner,
                                       const LockRange& want);

// `own` with [change.start, change.end] set to change.type (unlock removes): sorted, without overlaps, touching neighbours of
// equal type and pid joined. `own` may come from anywhere: it need not be sorted.
std::vector<LockRange> applyRange(const std::vector<LockRange>& own, const LockRange& change);

}  // namespace aquifer::meta
