// What this client has read or written in the last seconds: guesses for transactions that write. A guess needs no truth, since a
// commit compares what it relied on; a wrong one costs a trip, a right one saves one. Reads never use it. Bounded; thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "meta/store/record.h"

namespace aquifer::meta::redis {

class Recent {
 public:
  // A node or a dentry. `bytes`: nullopt when it is absent. For a node: what is known not to hang on it.
  struct Fact {
    std::optional<std::string> bytes;
    bool noXattrs = false, noEntries = false, noParents = false;
    uint32_t doubtful = 0;  // fields of the node that have changed since
  };
  static bool keeps(const Key& key) { return key.kind == Kind::node || key.kind == Kind::dentry; }

  std::optional<Fact> find(const Key& key);
  void put(const Key& key, Fact fact);
  // The same record with other bytes: what hangs on it stays as it was.
  void replace(const Key& key, std::optional<std::string> bytes);
  void doubt(const Key& key, uint32_t fields);
  // Something hangs on node `id` from now on.
  void fills(Kind kind, uint64_t id);
  // It did hold just now.
  void confirm(const Key& key);
  void forget(const Key& key);
  void clear();

 private:
  struct Hash {
    size_t operator()(const Key& key) const {
      size_t h = std::hash<uint64_t>()(key.id * 0x9E3779B97F4A7C15ull + static_cast<uint64_t>(key.kind));
      return h ^ std::hash<std::string>()(key.name);
    }
  };
  struct Entry {
    Fact fact;
    int64_t atNanos = 0;
  };
  using Map = std::unordered_map<Key, Entry, Hash>;
  Entry* at(const Key& key);  // live, in either generation

  std::mutex mu_;
  Map young_, old_;  // when the young ones are many, the old ones go
};

}  // namespace aquifer::meta::redis
