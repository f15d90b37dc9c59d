// Metadata in memory, the strictest of the stores: every transaction reads one snapshot, and a commit is refused if anything
// that its body relied on (fields of records, absences, visited ranges, guards) has changed since. Lives as long as the
// process, by name. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "meta/store/registry.h"
#include "meta/store/txn.h"

namespace aquifer::meta {

// What may go wrong at a commit, for tests. Probabilities 0…1.
struct MemFaults {
  double conflict = 0, unavailable = 0;
  double maybeCommitted = 0;           // half of them did commit
  std::chrono::microseconds delay{0};  // between the body and its commit, up to this long
  uint64_t seed = 1;
  // Decides before the dice do: the code to answer for this commit of `operation` (ok: no fault). For maybeCommitted the
  // commit is carried out if `commitNumber` is even. Called under the store's lock.
  std::function<Code(std::string_view operation, uint64_t commitNumber)> decide;
};

Result<std::unique_ptr<MetaStore>> openMemStore(const std::string& name, const StoreOptions& options);
// For every store of that name, now and later.
void setMemFaults(const std::string& name, MemFaults faults);
// Forget the data; stores that are open keep theirs.
void forgetMemStore(const std::string& name);

}  // namespace aquifer::meta
