// What one transaction is going to change: per record its last full value (or its removal) and the verbs that stand on it.
// Plain values; one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meta/store/record.h"

namespace aquifer::meta {

struct Touch {
  Time now;
  int64_t skipNanos = 0;
  bool due(const Time& mtime) const { return now.nanos() - mtime.nanos() >= skipNanos; }
};

// What differs between layouts in the meaning of verbs on records that are not there.
struct OverlayRules {
  bool parentsFromDentries = false;  // parentCount is derived: writes to it are no-ops
  bool absentRefIsOne = true;        // a missing sliceRef means one holder; false: verbs on a missing one do nothing
};

struct Change {
  enum class Base : uint8_t { stored, put, insert, erase };
  Base base = Base::stored;
  Value value;  // put and insert

  // Verbs on the stored record; folded into `value` at once when the record was put before.
  bool added = false;
  int64_t delta = 0;  // add
  int nlink = 0;
  std::vector<Touch> touches;
  SliceList appended;
  DirStat stat;
  Quota quota;  // usedSpace, usedInodes

  // Where to report the records of a chunk at the commit; also for folded appends.
  std::vector<uint32_t*> recordCounts;

  bool isVerbs() const { return base == Base::stored; }
};

// The record as it stands after `verbs` on `v`.
void applyVerbs(Kind kind, const Change& verbs, const OverlayRules& rules, std::optional<Value>& v);

class WriteSet {
 public:
  explicit WriteSet(OverlayRules rules) : rules_(rules) {}

  void put(Key key, Value value, Change::Base base);
  void erase(Key key);
  // `verbs` must be of base stored.
  void verb(Key key, Change verbs);
  void log(std::string entry) { logs_.push_back(std::move(entry)); }

  const Change* find(const Key& key) const;
  // Changes whose key is of `kind` (and `id`, if given), in key order.
  std::vector<std::pair<Key, const Change*>> within(Kind kind, const std::optional<uint64_t>& id) const;
  const std::map<Key, Change>& changes() const { return changes_; }
  const std::vector<std::string>& logs() const { return logs_; }
  const OverlayRules& rules() const { return rules_; }
  bool empty() const { return changes_.empty() && logs_.empty(); }

  // Merge verbs-only changes of another set's key.
  static void mergeVerbs(Change& into, const Change& from);

 private:
  OverlayRules rules_;
  std::map<Key, Change> changes_;
  std::vector<std::string> logs_;
};

}  // namespace aquifer::meta
