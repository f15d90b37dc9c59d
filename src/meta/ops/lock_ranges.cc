#include "meta/ops/lock_ranges.h"

#include <algorithm>
#include <limits>

namespace aquifer::meta {

bool overlaps(const LockRange& a, const LockRange& b) { return a.start <= b.end && b.start <= a.end; }

std::vector<LockConflict> allConflicts(const std::vector<PlockEntry>& table, SessionId sid, uint64_t owner,
                                       const LockRange& want) {
  std::vector<LockConflict> out;
  for (const auto& e : table) {
    if (e.sid == sid && e.owner == owner) continue;
    for (const auto& r : e.ranges) {
      if (r.type == kRangeUnlock || (r.type != kRangeWrite && want.type != kRangeWrite) || !overlaps(r, want)) continue;
      out.push_back({e.sid, e.owner, r});
      break;
    }
  }
  return out;
}

std::optional<LockConflict> findConflict(const std::vector<PlockEntry>& table, SessionId sid, uint64_t owner,
                                         const LockRange& want) {
  auto all = allConflicts(table, sid, owner, want);
  if (all.empty()) return {};
  return all.front();
}

std::vector<LockRange> applyRange(const std::vector<LockRange>& own, const LockRange& change) {
  std::vector<LockRange> parts;
  parts.reserve(own.size() + 2);
  for (const auto& r : own) {
    if (r.type == kRangeUnlock || r.start > r.end) continue;
    if (!overlaps(r, change)) {
      parts.push_back(r);
      continue;
    }
    if (r.start < change.start) parts.push_back({r.type, r.pid, r.start, change.start - 1});
    if (r.end > change.end) parts.push_back({r.type, r.pid, change.end + 1, r.end});
  }
  if (change.type != kRangeUnlock) parts.push_back(change);
  std::sort(parts.begin(), parts.end(), [](const LockRange& a, const LockRange& b) { return a.start < b.start; });
  std::vector<LockRange> out;
  for (const auto& r : parts) {
    if (!out.empty()) {
      auto& last = out.back();
      const bool touch = last.end == std::numeric_limits<uint64_t>::max() || r.start <= last.end + 1;
      if (touch && last.type == r.type && last.pid == r.pid) {
        last.end = std::max(last.end, r.end);
        continue;
      }
    }
    out.push_back(r);
  }
  return out;
}

}  // namespace aquifer::meta
