// ACL rules by id and back. Rules are immutable once stored, so a cached one is never stale. Bounded. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>

#include "meta/store/txn.h"

namespace aquifer::meta {

class AclCache {
 public:
  // The rule with this id (not 0), from memory or through the transaction. A missing record is Code::io.
  Result<AclRule> rule(MetaTxn& tx, uint32_t id);
  // The id of an equal rule, or of a new one that this transaction stores. An absent rule (nothing set) is 0.
  Result<uint32_t> idOf(MetaTxn& tx, const AclRule& rule);

 private:
  void remember(uint32_t id, const AclRule& rule);
  static constexpr size_t kLimit = 20'000;
  std::mutex mu_;
  std::unordered_map<uint32_t, AclRule> rules_;
};

}  // namespace aquifer::meta
