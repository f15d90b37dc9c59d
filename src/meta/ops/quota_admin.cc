// Setting, listing and checking quotas. What operations charge to them is in charge.cc.
#include <fmt/format.h>

#include <algorithm>

#include "meta/ops/changelog.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr int64_t kNoLimit = -1;

Key recordOf(const QuotaKey& q) { return {q.kind, q.id, 0, {}}; }
int typeOf(const QuotaKey& q) { return q.kind == Kind::dirQuota ? 0 : q.kind == Kind::userQuota ? 1 : 2; }

std::string nameOf(const QuotaKey& q) {
  return fmt::format("{} {}", q.kind == Kind::dirQuota ? "inode" : q.kind == Kind::userQuota ? "uid" : "gid", q.id);
}

bool isQuota(const QuotaKey& q) { return q.kind == Kind::dirQuota || q.kind == Kind::userQuota || q.kind == Kind::groupQuota; }

}  // namespace

Result<std::map<QuotaKey, Quota>> MetaImpl::listQuotas() {
  std::map<QuotaKey, Quota> out;
  TRY(read("listQuotas", [&](MetaTxn& tx) -> Status {
    out.clear();
    for (const Kind kind : {Kind::dirQuota, Kind::userQuota, Kind::groupQuota})
      TRY(tx.list({.kind = kind}, [&, kind](const Key& key, const Value& value) {
        if (const auto* q = std::get_if<Quota>(&value)) out[{kind, key.id}] = *q;
        return true;
      }));
    return {};
  }));
  return out;
}

Result<std::optional<Quota>> MetaImpl::getQuota(const QuotaKey& q) {
  if (!isQuota(q)) return Code::invalid;
  std::optional<Quota> out;
  TRY(read("getQuota", [&](MetaTxn& tx) -> Status {
    TRY_ASSIGN(out, tx.find<Quota>(recordOf(q)));
    return {};
  }));
  return out;
}

// Space and inodes in use as they are now. Directory: everything below it. Owner: all nodes, in the trash and without a name too,
// since these are charged until they go.
Result<std::pair<int64_t, int64_t>> MetaImpl::countUsage(const QuotaKey& q, bool strict) {
  if (q.kind == Kind::dirQuota) {
    TRY_ASSIGN(const auto sum, summary(Context::root(), q.id, true, strict, {}));
    return std::pair{static_cast<int64_t>(sum.size) - 4096, static_cast<int64_t>(sum.files + sum.dirs) - 1};
  }
  std::pair<int64_t, int64_t> used{0, 0};
  TRY(read("countOwner", [&](MetaTxn& tx) {
    used = {0, 0};
    return tx.list({.kind = Kind::node}, [&](const Key& key, const Value& value) {
      const auto* attr = std::get_if<Attr>(&value);
      if (!attr || key.id == kRootIno || isTrash(key.id)) return true;
      if ((q.kind == Kind::userQuota ? attr->uid : attr->gid) != q.id) return true;
      used.first += spaceOf(*attr);
      used.second += 1;
      return true;
    });
  }));
  return used;
}

Status MetaImpl::setQuota(const QuotaKey& q, std::optional<int64_t> maxSpace, std::optional<int64_t> maxInodes, bool strict) {
  if (!isQuota(q)) return Code::invalid;
  const auto volume = formatNow();
  if (q.kind == Kind::dirQuota && !volume->dirStats)
    return Status(Code::config, "directory quotas need directory statistics; please enable them with `config --dir-stats`");
  if (q.kind != Kind::dirQuota && !volume->userGroupQuota) {
    Format enabled = *volume;
    enabled.userGroupQuota = true;
    TRY(init(enabled, false));  // counts what everybody uses
  }
  if (q.kind == Kind::dirQuota && isTrash(q.id)) return Code::notPermitted;
  Quota quota;
  bool fresh = false;
  const auto record = recordOf(q);
  const auto again = [](MetaTxn&) -> Result<bool> { return false; };
  // The limits first: from then on changes are charged, while the tree is being counted.
  TRY(txn(
      "setQuota",
      [&](MetaTxn& tx) -> Status {
        if (q.kind == Kind::dirQuota) {
          TRY_ASSIGN(const auto dir, tx.node(q.id, kFieldType));
          if (!dir.isDir()) return Code::notDirectory;
        }
        TRY_ASSIGN(const auto stored, tx.find<Quota>(record));
        fresh = !stored;
        quota = stored.value_or(Quota());
        if (maxSpace) quota.maxSpace = *maxSpace;
        if (maxInodes) quota.maxInodes = *maxInodes;
        tx.put(record, quota);
        if (logging()) log(tx, changelog::setQuota(typeOf(q), q.id, quota.maxSpace, quota.maxInodes));
        return {};
      },
      again));
  quotas_.set(q, quota);
  if (!fresh || q.kind != Kind::dirQuota) return {};  // usage of owners is kept for everybody, limited or not
  TRY_ASSIGN(const auto used, countUsage(q, strict));
  TRY(txn(
      "setQuota",
      [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(auto stored, tx.find<Quota>(record));
        if (!stored) return {};  // deleted meanwhile
        stored->usedSpace = std::max<int64_t>(used.first, 0);
        stored->usedInodes = std::max<int64_t>(used.second, 0);
        quota = *stored;
        tx.put(record, *stored);
        return {};
      },
      again));
  quotas_.set(q, quota);
  return {};
}

Status MetaImpl::deleteQuota(const QuotaKey& q) {
  if (!isQuota(q)) return Code::invalid;
  const auto record = recordOf(q);
  std::optional<Quota> left;
  TRY(txn(
      "deleteQuota",
      [&](MetaTxn& tx) -> Status {
        left.reset();
        TRY_ASSIGN(auto stored, tx.find<Quota>(record));
        if (!stored) return {};
        if (q.kind == Kind::dirQuota) {
          tx.erase(record);
        } else {  // the usage of an owner goes on being counted
          stored->maxSpace = stored->maxInodes = kNoLimit;
          left = *stored;
          tx.put(record, *stored);
        }
        if (logging()) log(tx, changelog::delQuota(typeOf(q), q.id));
        return {};
      },
      [](MetaTxn&) -> Result<bool> { return false; }));
  if (left)
    quotas_.set(q, *left);
  else
    quotas_.erase(q);
  return {};
}

Result<bool> MetaImpl::checkQuota(const QuotaKey& q, bool repair, bool strict, std::string* message) {
  TRY_ASSIGN(const auto before, getQuota(q));
  if (!before) return Status(Code::notFound, "no quota for " + nameOf(q));
  TRY_ASSIGN(const auto used, countUsage(q, strict));
  TRY_ASSIGN(const auto stored, getQuota(q));
  if (!stored) return Status(Code::notFound, "no quota for " + nameOf(q));
  if (stored->usedSpace == used.first && stored->usedInodes == used.second) return true;
  if (message)
    *message = fmt::format("quota of {}: used space {} -> {}, used inodes {} -> {}", nameOf(q), stored->usedSpace, used.first,
                           stored->usedInodes, used.second);
  if (repair) {
    Quota now;
    // As a difference: what others charge at this moment is not lost.
    TRY(txn(
        "repairQuota",
        [&](MetaTxn& tx) -> Status {
          TRY_ASSIGN(auto current, tx.find<Quota>(recordOf(q)));
          if (!current) return {};
          current->usedSpace += used.first - stored->usedSpace;
          current->usedInodes += used.second - stored->usedInodes;
          now = *current;
          tx.put(recordOf(q), *current);
          return {};
        },
        [&](MetaTxn& tx) -> Result<bool> {
          TRY_ASSIGN(const auto current, tx.find<Quota>(recordOf(q)));
          if (current == now) return true;
          if (current == stored) return false;
          return Status(Code::io, "usage has changed meanwhile");
        }));
    quotas_.set(q, now);
  }
  return false;
}

}  // namespace aquifer::meta
