#include "meta/ops/acl_cache.h"

#include "meta/model/acl.h"

namespace aquifer::meta {

void AclCache::remember(uint32_t id, const AclRule& rule) {
  std::lock_guard lock(mu_);
  if (rules_.size() >= kLimit) rules_.clear();
  rules_[id] = rule;
}

Result<AclRule> AclCache::rule(MetaTxn& tx, uint32_t id) {
  {
    std::lock_guard lock(mu_);
    if (auto it = rules_.find(id); it != rules_.end()) return it->second;
  }
  TRY_ASSIGN(auto stored, tx.find<AclRule>(key::acl(id)));
  if (!stored) return Status(Code::io, "ACL rule is missing");
  remember(id, *stored);
  return *stored;
}

Result<uint32_t> AclCache::idOf(MetaTxn& tx, const AclRule& rule) {
  if (aclEmpty(rule)) return uint32_t{0};
  {
    std::lock_guard lock(mu_);
    for (auto& [id, known] : rules_)
      if (known == rule) return id;
  }
  uint32_t found = 0;
  std::vector<std::pair<uint32_t, AclRule>> seen;
  TRY(tx.list({.kind = Kind::acl}, [&](const Key& key, const Value& value) {
    auto* stored = std::get_if<AclRule>(&value);
    if (!stored) return true;
    auto id = static_cast<uint32_t>(key.id);
    if (seen.size() < kLimit / 2) seen.emplace_back(id, *stored);
    if (*stored == rule) found = id;
    return found == 0;
  }));
  for (auto& [id, stored] : seen) remember(id, stored);
  if (found != 0) return found;
  // Not remembered: this attempt may still fail, and the number would then go to another rule.
  TRY_ASSIGN(auto last, tx.find<int64_t>(key::counter(counter::kAclMaxId)));
  auto id = last.value_or(0) + 1;
  if (id > UINT32_MAX) return Status(Code::io, "no ACL rule numbers left");
  tx.put(key::counter(counter::kAclMaxId), id);
  tx.insert(key::acl(static_cast<uint32_t>(id)), rule);
  return static_cast<uint32_t>(id);
}

}  // namespace aquifer::meta
