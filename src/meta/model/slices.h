// What a reader sees of a chunk: the records painted in stored order, later over earlier. Pure functions, thread-safe.
#pragma once

#include <vector>

#include "meta/model/types.h"

namespace aquifer::meta {

// Pieces from left to right with `off` advanced where a head is covered; gaps before the last painted byte are id-0 pieces;
// nothing after the last painted byte. Neighbours are not merged. Piece.pos is set. O(n log n).
std::vector<Slice> paint(const std::vector<Slice>& records);

// Compaction plan of metadata.md §4.5 over `records` (already cut to the allowed number).
struct CompactionPlan {
  size_t skipped = 0;          // leading records that stay
  uint32_t pos = 0, size = 0;  // where the merged slice will stand; size 0: nothing to do
  std::vector<Slice> pieces;   // painted view of the rest, trimmed of leading and trailing holes
};
CompactionPlan planCompaction(const std::vector<Slice>& records);

}  // namespace aquifer::meta
