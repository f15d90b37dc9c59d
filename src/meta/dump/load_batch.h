// Records on their way into an empty database, written in transactions of a bounded size. One thread.
#pragma once

#include <bitset>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "meta/dump/dump.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {

// Which ids have been seen: a bit each, in pages, since ids are handed out in order and lie close together.
class SeenIds {
 public:
  bool contains(uint64_t id) const {
    auto it = pages_.find(id / kBits);
    return it != pages_.end() && it->second->test(id % kBits);
  }
  // True if it had been seen before.
  bool insert(uint64_t id) {
    auto& page = pages_[id / kBits];
    if (!page) page = std::make_unique<std::bitset<kBits>>();
    const bool before = page->test(id % kBits);
    page->set(id % kBits);
    return before;
  }

 private:
  static constexpr size_t kBits = 4096;
  std::unordered_map<uint64_t, std::unique_ptr<std::bitset<kBits>>> pages_;
};

class LoadBatch {
 public:
  LoadBatch(MetaStore& store, const DumpProgress& progress);
  Status put(Key key, Value value);
  // One more record refers to the slice. An absent count means one holder to some stores, so the first is put and further ones added.
  Status addRef(SliceId id, uint32_t size);
  // A slice that nobody refers to and whose objects are still to be deleted.
  Status pending(SliceId id, uint32_t size, int64_t count);
  Status flush();
  uint64_t records() const { return records_; }

 private:
  Status full();
  MetaStore& store_;
  const DumpProgress& progress_;
  const size_t limit_;
  std::vector<std::pair<Key, Value>> puts_;
  std::vector<Key> refs_;   // one more holder each
  SeenIds slices_;
  uint64_t records_ = 0;
};

// The database must be empty (Code::exists with its volume's name). Makes the tables.
Status beginLoad(MetaStore& store);
// The last step: writes what is left, then the setting; with it the database is a volume.
Result<LoadReport> finishLoad(MetaStore& store, LoadBatch& batch, const Format& format);

}  // namespace aquifer::meta
