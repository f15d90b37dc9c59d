#include "meta/model/slices.h"

#include <algorithm>
#include <map>

namespace aquifer::meta {
namespace {

constexpr uint32_t kKeepFrom = 1 << 20;  // leading records smaller than this are always merged

// Disjoint covered intervals, begin -> end. claim() covers [begin, end) and reports the parts that were free.
class Coverage {
 public:
  template <class Free>
  void claim(uint64_t begin, uint64_t end, Free&& free) {
    auto it = spans_.upper_bound(begin);
    if (it != spans_.begin() && std::prev(it)->second >= begin) --it;
    uint64_t from = begin, low = begin, high = end;
    while (it != spans_.end() && it->first <= end) {
      if (it->first > from) free(from, it->first);
      from = std::max(from, it->second);
      low = std::min(low, it->first);
      high = std::max(high, it->second);
      it = spans_.erase(it);
    }
    if (from < end) free(from, end);
    spans_.emplace(low, high);
  }

 private:
  std::map<uint64_t, uint64_t> spans_;
};

Slice hole(uint64_t pos, uint64_t len) {
  return {static_cast<uint32_t>(pos), 0, static_cast<uint32_t>(len), 0, static_cast<uint32_t>(len)};
}

CompactionPlan merged(const Slice* begin, const Slice* end) {
  CompactionPlan plan;
  plan.pieces = paint({begin, end});
  auto& p = plan.pieces;
  size_t first = 0, last = p.size();
  // One piece always stays: a chunk of holes only is merged to a single hole.
  while (last - first > 1 && p[first].id == 0) ++first;
  while (last - first > 1 && p[last - 1].id == 0) --last;
  p.erase(p.begin() + static_cast<long>(last), p.end());
  p.erase(p.begin(), p.begin() + static_cast<long>(first));
  if (p.size() == 1 && p[0].id == 0) p[0].size = p[0].len = 1;
  if (!p.empty()) plan.pos = p[0].pos;
  for (const auto& s : p) plan.size += s.len;
  return plan;
}

}  // namespace

std::vector<Slice> paint(const std::vector<Slice>& records) {
  // From the newest record down: what is still free of a record's interval is what a reader sees of it.
  Coverage covered;
  std::vector<Slice> seen;
  for (auto r = records.rbegin(); r != records.rend(); ++r) {
    const uint64_t begin = r->pos, end = std::min<uint64_t>(begin + r->len, kChunkSize);
    if (begin >= end) continue;
    covered.claim(begin, end, [&](uint64_t from, uint64_t to) {
      const auto skip = static_cast<uint32_t>(from - begin);
      seen.push_back({static_cast<uint32_t>(from), r->id, r->size, r->off + skip, static_cast<uint32_t>(to - from)});
    });
  }
  std::sort(seen.begin(), seen.end(), [](const Slice& a, const Slice& b) { return a.pos < b.pos; });
  std::vector<Slice> out;
  out.reserve(seen.size());
  uint64_t pos = 0;
  for (const auto& s : seen) {
    if (s.pos > pos) out.push_back(hole(pos, s.pos - pos));
    out.push_back(s);
    pos = uint64_t{s.pos} + s.len;
  }
  return out;
}

CompactionPlan planCompaction(const std::vector<Slice>& records) {
  const Slice* const end = records.data() + records.size();
  CompactionPlan plan;
  size_t skipped = 0;
  while (skipped < records.size()) {
    const Slice* first = records.data() + skipped;
    plan = merged(first, end);
    plan.skipped = skipped;
    // A large leading record that nothing covers is cheaper left alone than rewritten. An identical later record would make
    // "which one is it" ambiguous, so it is merged.
    if (first->len < kKeepFrom || plan.size == 0 || uint64_t{first->len} * 5 < plan.size) break;
    const Slice& head = plan.pieces.front();
    if (head.pos != first->pos || head.id != first->id || head.off != first->off || head.len != first->len) break;
    if (std::find(first + 1, end, *first) != end) break;
    ++skipped;
  }
  if (records.size() - skipped < 2 || plan.size == 0) {
    plan = {};
    plan.skipped = skipped;
  }
  return plan;
}

}  // namespace aquifer::meta
