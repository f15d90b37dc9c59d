#include <algorithm>

#include "object/layers/layers.h"

namespace aquifer::object {

namespace {

constexpr size_t kPage = 4096;  // keys of each shard held during a merge

uint32_t fnv1a32(std::string_view text) {
  uint32_t h = 0x811c9dc5;
  for (unsigned char c : text) h = (h ^ c) * 0x01000193;
  return h;
}

// One shard's part of a listing, a page at a time, so that the merge can pull from it.
class Pages {
 public:
  Pages(ObjectStore& store, std::string_view prefix, std::string_view startAfter)
      : store_(store), prefix_(prefix), after_(startAfter) {}

  // The next object, or nullptr at the end.
  Result<const ObjectInfo*> peek() {
    if (at_ == page_.size() && more_) TRY(read());
    return at_ < page_.size() ? &page_[at_] : nullptr;
  }
  void pop() { at_++; }

 private:
  Status read() {
    if (!page_.empty()) after_ = page_.back().key;
    page_.clear();
    at_ = 0;
    TRY(store_.list(prefix_, after_, [&](const ObjectInfo& info) {
      page_.push_back(info);
      return page_.size() < kPage;
    }));
    more_ = page_.size() == kPage;
    return {};
  }

  ObjectStore& store_;
  const std::string prefix_;
  std::string after_;
  std::vector<ObjectInfo> page_;
  size_t at_ = 0;
  bool more_ = true;
};

class ShardLayer : public ObjectStore {
 public:
  explicit ShardLayer(std::vector<std::unique_ptr<ObjectStore>> shards) : shards_(std::move(shards)) {}

  std::string describe() const override { return "shard" + std::to_string(shards_.size()) + "://" + shards_[0]->describe(); }

  Capabilities capabilities() const override {
    Capabilities c = shards_[0]->capabilities();
    c.copy = false;  // source and target may lie in different shards
    return c;
  }

  Status create() override {
    for (auto& shard : shards_) TRY(shard->create());
    return {};
  }

  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override { return of(key).get(key, off, out); }
  Status put(std::string_view key, Bytes data, uint8_t tier) override { return of(key).put(key, data, tier); }
  Status remove(std::string_view key) override { return of(key).remove(key); }
  Status removeMany(std::span<const std::string> keys) override {
    std::vector<std::vector<std::string>> each(shards_.size());
    for (const auto& key : keys) each[fnv1a32(key) % shards_.size()].push_back(key);
    Status result;
    for (size_t i = 0; i < each.size(); i++) {
      if (each[i].empty()) continue;
      if (Status one = shards_[i]->removeMany(each[i]); !one && result) result = std::move(one);
    }
    return result;
  }
  Result<ObjectInfo> head(std::string_view key) override { return of(key).head(key); }
  Result<std::string> getAll(std::string_view key, uint64_t limit) override { return of(key).getAll(key, limit); }

  Status list(std::string_view prefix, std::string_view startAfter,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    struct Head {
      const ObjectInfo* info;
      Pages* pages;
    };
    // A heap whose top is the smallest key.
    auto later = [](const Head& a, const Head& b) { return a.info->key > b.info->key; };
    std::vector<Pages> all;
    all.reserve(shards_.size());
    std::vector<Head> heap;
    for (auto& shard : shards_) {
      all.emplace_back(*shard, prefix, startAfter);
      TRY_ASSIGN(const ObjectInfo* first, all.back().peek());
      if (first) heap.push_back({first, &all.back()});
    }
    std::make_heap(heap.begin(), heap.end(), later);
    std::string last;  // folders of file-like drivers stand in several shards, and are told once
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Head& head = heap.back();
      if (last.empty() || head.info->key != last) {
        last = head.info->key;
        if (!visit(*head.info)) return {};
      }
      head.pages->pop();
      TRY_ASSIGN(head.info, head.pages->peek());
      if (head.info)
        std::push_heap(heap.begin(), heap.end(), later);
      else
        heap.pop_back();
    }
    return {};
  }

  void setLimits(int64_t uploadBps, int64_t downloadBps) override {
    for (auto& shard : shards_) shard->setLimits(uploadBps, downloadBps);
  }

 private:
  ObjectStore& of(std::string_view key) { return *shards_[fnv1a32(key) % shards_.size()]; }

  const std::vector<std::unique_ptr<ObjectStore>> shards_;
};

}  // namespace

std::unique_ptr<ObjectStore> joinShards(std::vector<std::unique_ptr<ObjectStore>> shards) {
  return std::make_unique<ShardLayer>(std::move(shards));
}

}  // namespace aquifer::object
