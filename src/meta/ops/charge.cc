#include "meta/ops/charge.h"

#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

namespace {

// Parent chains longer than this are damage (a loop), not directories.
constexpr int kMaxDepth = 100'000;

bool exceeds(int64_t used, int64_t delta, int64_t max) { return max > 0 && delta > 0 && used + delta > max; }

// With little headroom the cached usage is not good enough to decide: other clients may have used it up.
bool near(int64_t used, int64_t delta, int64_t max) { return max > 0 && delta > 0 && used + delta > max - max / 8; }

}  // namespace

void Charge::reset() {
  space_ = inodes_ = 0;
  quotas_.clear();
}

Status Charge::quota(MetaTxn& tx, const QuotaKey& key, int64_t space, int64_t inodes, bool check) {
  if (space == 0 && inodes == 0) return {};
  if (check && (space > 0 || inodes > 0)) {
    auto q = meta_.quotas_.get(key);
    if (q && (meta_.store_->traits().embedded || near(q->usedSpace, space, q->maxSpace) || near(q->usedInodes, inodes, q->maxInodes)) &&
        (q->maxSpace > 0 || q->maxInodes > 0)) {
      TRY_ASSIGN(auto stored, tx.find<Quota>({key.kind, key.id, 0, {}}));
      if (stored && (exceeds(stored->usedSpace, space, stored->maxSpace) || exceeds(stored->usedInodes, inodes, stored->maxInodes)))
        return Code::quotaExceeded;
    }
  }
  tx.addQuota(key.kind, key.id, space, inodes);
  auto& sum = quotas_[key];
  sum.first += space;
  sum.second += inodes;
  return {};
}

Status Charge::owner(MetaTxn& tx, uint32_t uid, uint32_t gid, int64_t space, int64_t inodes) {
  if (!meta_.formatNow()->userGroupQuota) return {};
  TRY(quota(tx, {Kind::userQuota, uid}, space, inodes, true));
  return quota(tx, {Kind::groupQuota, gid}, space, inodes, true);
}

Status Charge::volume(MetaTxn& tx, int64_t space, int64_t inodes, bool check) {
  if (check && (space > 0 || inodes > 0)) {
    auto format = meta_.formatNow();
    auto full = [&](std::string_view name, int64_t cached, int64_t delta, uint64_t limit) -> Status {
      auto max = static_cast<int64_t>(limit);
      if (!near(cached, delta, max)) return {};
      TRY_ASSIGN(auto used, tx.find<int64_t>(key::counter(name)));
      return exceeds(used.value_or(0), delta, max) ? Status(Code::noSpace) : Status();
    };
    TRY(full(counter::kUsedSpace, meta_.quotas_.usedSpace(), space, format->capacity));
    TRY(full(counter::kTotalInodes, meta_.quotas_.usedInodes(), inodes, format->inodes));
  }
  if (space != 0) tx.add(key::counter(counter::kUsedSpace), space);
  if (inodes != 0) tx.add(key::counter(counter::kTotalInodes), inodes);
  space_ += space;
  inodes_ += inodes;
  return {};
}

void Charge::stat(MetaTxn& tx, Ino dir, const DirStat& delta) {
  if (delta == DirStat{} || dir == kTrashIno || !meta_.formatNow()->dirStats) return;
  tx.addDirStat(dir, delta);
}

Result<std::vector<Ino>> Charge::quotasFrom(MetaTxn& tx, Ino dir) {
  std::vector<Ino> found;
  if (!meta_.quotas_.anyDir()) return found;
  for (int depth = 0; dir != 0 && !isTrash(dir); depth++) {
    if (depth > kMaxDepth) return Status(Code::io, "directory parents form a loop");
    if (meta_.quotas_.hasDir(dir)) found.push_back(dir);
    if (dir == kRootIno) break;
    TRY_ASSIGN(auto attr, tx.find<Attr>(key::node(dir), kFieldParent));
    if (!attr) break;
    dir = attr->parent;
  }
  return found;
}

Status Charge::dirQuota(MetaTxn& tx, Ino dir, int64_t space, int64_t inodes, bool check) {
  return quota(tx, {Kind::dirQuota, dir}, space, inodes, check);
}

Status Charge::dir(MetaTxn& tx, Ino dir, const DirStat& delta, bool check) {
  stat(tx, dir, delta);
  if (delta.space == 0 && delta.inodes == 0) return {};
  TRY_ASSIGN(auto limited, quotasFrom(tx, dir));
  for (auto ino : limited) TRY(dirQuota(tx, ino, delta.space, delta.inodes, check));
  return {};
}

Status Charge::parents(MetaTxn& tx, Ino ino, const Attr& attr, int64_t length, int64_t space) {
  if (length == 0 && space == 0) return {};
  if (!meta_.formatNow()->dirStats && !meta_.quotas_.anyDir()) return {};
  if (attr.nlink == 0) return {};  // kept open without a name: no directory counts it any more
  if (attr.parent != 0) return dir(tx, attr.parent, {length, space, 0});
  TRY_ASSIGN(auto counts, meta_.parentCounts(tx, ino));
  for (auto& [parent, count] : counts) TRY(dir(tx, parent, {length * count, space * count, 0}));
  return {};
}

void Charge::committed() {
  if (space_ != 0 || inodes_ != 0) meta_.quotas_.addVolume(space_, inodes_);
  for (auto& [key, sum] : quotas_) meta_.quotas_.add(key, sum.first, sum.second);
}

}  // namespace aquifer::meta
