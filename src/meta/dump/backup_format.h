// The frame of a binary backup (docs/formats/metadata.md §14.2): segments of one kind each, an end mark, a footer that lists them.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "meta/store/record.h"

namespace aquifer::meta {

inline constexpr uint32_t kBackupMagic = 0x747083, kBackupVersion = 1;
inline constexpr uint64_t kMaxSegment = 1ull << 30;     // bytes; writers stay far below
inline constexpr size_t kSegmentRecords = 10'000, kSegmentBytes = 8 << 20;

enum class Segment : uint32_t {
  format = 1, counter, node, edge, chunk, sliceRef, symlink, sustained, delFile, xattr, acl, stat, quota, parent, changeLog,
};
// The name in the footer; empty for an unknown one.
constexpr std::string_view segmentName(Segment s) {
  constexpr std::string_view names[] = {"",          "format",  "counter", "node", "edge", "chunk", "sliceRef", "symlink",
                                        "sustained", "delFile", "xattr",   "acl",  "stat", "quota", "parent",   "changeLog"};
  const auto i = static_cast<uint32_t>(s);
  return i < std::size(names) ? names[i] : std::string_view();
}
// The field of the batch message that a kind stands in (quotas: of directories).
constexpr uint32_t batchField(Segment s) {
  constexpr uint32_t fields[] = {0, 0, 13, 1, 2, 3, 4, 7, 8, 9, 5, 12, 10, 11, 6, 14};
  return fields[static_cast<uint32_t>(s)];
}
// The counters that a backup holds, in its order.
inline constexpr std::string_view kDumpedCounters[] = {counter::kUsedSpace, counter::kTotalInodes, counter::kNextInode,
                                                       counter::kNextChunk, counter::kNextSession, counter::kNextTrash};
inline constexpr uint32_t kUserQuotas = 15, kGroupQuotas = 16;

}  // namespace aquifer::meta
