// Compaction of one chunk: many records become one slice (docs/formats/metadata.md §4.5).
#include <algorithm>

#include "base/log.h"
#include "meta/model/slices.h"
#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr size_t kMostRecords = 1000;  // merged at once; the rest is left to the next round

}  // namespace

Result<uint64_t> MetaImpl::compactChunk(Ino ino, uint32_t index) {
  ino = real(ino);
  if (config_.readOnly) return Code::readOnly;
  const auto merge = dataHooks().compact;
  if (!merge) return Code::unsupported;
  {
    std::lock_guard lock(compactMu_);
    if (!compacting_.emplace(ino, index).second) return uint64_t{0};  // under way already
  }
  struct Done {
    MetaImpl& meta;
    std::pair<Ino, uint32_t> chunk;
    ~Done() {
      std::lock_guard lock(meta.compactMu_);
      meta.compacting_.erase(chunk);
    }
  } done{*this, {ino, index}};

  SliceList origin;
  uint8_t tier = 0;
  TRY(read("compact", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(const auto attr, tx.node(ino, kFieldType | kFieldTier));
    tier = attr.tier;
    TRY_ASSIGN(auto stored, tx.find<SliceList>(key::chunk(ino, index)));
    origin = stored ? std::move(*stored) : SliceList();
    return {};
  }));
  if (origin.size() > kMostRecords) origin.resize(kMostRecords);
  const auto plan = planCompaction(origin);
  if (plan.size == 0) return uint64_t{0};
  TRY_ASSIGN(const SliceId id, slices_.next());
  const auto ref = key::sliceRef(id, plan.size);
  if (auto s = merge(plan.pieces, id, tier); !s) {
    // Some of its objects may be there; nothing refers to them.
    if (auto hook = dataHooks().deleteSlice) (void)hook(id, plan.size);
    return s;
  }

  bool lost = false;
  std::vector<DelayedSlice> unused;
  TRY(txn(
      "compact",
      [&](MetaTxn& tx) -> Status {
        lost = false;
        unused.clear();
        TRY_ASSIGN(auto stored, tx.find<SliceList>(key::chunk(ino, index)));
        if (!stored || stored->size() < origin.size() || !std::equal(origin.begin(), origin.end(), stored->begin())) {
          // Deleted, or compacted by somebody else. The new slice is registered as unused, so that cleaners find it if this
          // process dies before it has removed the objects.
          lost = true;
          tx.insert(ref, int64_t{0});
          return {};
        }
        const auto from = stored->begin() + static_cast<long>(plan.skipped),
                   to = stored->begin() + static_cast<long>(origin.size());
        DelayedList old;
        for (auto r = from; r != to; ++r)
          if (r->id != 0) old.push_back({r->id, r->size});
        *from = Slice{plan.pos, id, plan.size, 0, plan.size};
        stored->erase(from + 1, to);
        tx.put(key::chunk(ino, index), std::move(*stored));
        tx.insert(ref, int64_t{1});
        const auto time = now();
        if (formatNow()->trashDays > 0) {
          if (!old.empty()) tx.put(key::delSlices(id, time.sec), std::move(old));
        } else {
          for (const auto& s : old) {
            TRY_ASSIGN(const bool none, addSliceRef(tx, s.id, s.size, -1));
            if (none) unused.push_back(s);
          }
        }
        if (logging())
          log(tx, changelog::compactChunk(ino, index, plan.skipped, origin.size() - plan.skipped, plan.pos, id, plan.size));
        return {};
      },
      [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(const auto holders, tx.find<int64_t>(ref));
        return holders.has_value();
      }));
  if (lost) deleteSliceLater(id, plan.size);
  for (const auto& s : unused) deleteSliceLater(s.id, s.size);
  return uint64_t{plan.size};
}

}  // namespace aquifer::meta
