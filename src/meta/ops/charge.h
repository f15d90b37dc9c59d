// What one operation adds to usage: volume counters, directory statistics, directory, user and group quotas. The body calls
// the members, which check limits (positive amounts only) and write through the transaction; after the commit `committed`
// brings the cached usage up to date. One thread; one object per operation, `reset` at the start of each attempt.
#pragma once

#include <map>
#include <vector>

#include "meta/ops/quota_cache.h"
#include "meta/store/txn.h"

namespace aquifer::meta {

class MetaImpl;

class Charge {
 public:
  explicit Charge(MetaImpl& meta) : meta_(meta) {}
  void reset();
  // User and group quota of an owner (only with UserGroupQuota): quotaExceeded.
  Status owner(MetaTxn& tx, uint32_t uid, uint32_t gid, int64_t space, int64_t inodes);
  // usedSpace, totalInodes: noSpace at the volume's limits.
  Status volume(MetaTxn& tx, int64_t space, int64_t inodes, bool check = true);
  // The statistics of `dir` (which gained or lost a child, or one of its children changed) and every quota from it upward:
  // quotaExceeded. `check` false: moves and removals, which may not fail for it.
  Status dir(MetaTxn& tx, Ino dir, const DirStat& delta, bool check = true);
  // The two halves of `dir` apart. quotasFrom: the directories with a quota from `dir` (inclusive) upward, nearest first.
  void stat(MetaTxn& tx, Ino dir, const DirStat& delta);
  Result<std::vector<Ino>> quotasFrom(MetaTxn& tx, Ino dir);
  Status dirQuota(MetaTxn& tx, Ino dir, int64_t space, int64_t inodes, bool check);
  // A change of a file's length: statistics and quotas of its parent, or of each parent times its links when hard-linked.
  Status parents(MetaTxn& tx, Ino ino, const Attr& attr, int64_t length, int64_t space);
  void committed();

 private:
  Status quota(MetaTxn& tx, const QuotaKey& key, int64_t space, int64_t inodes, bool check);
  MetaImpl& meta_;
  int64_t space_ = 0, inodes_ = 0;
  std::map<QuotaKey, std::pair<int64_t, int64_t>> quotas_;
};

}  // namespace aquifer::meta
