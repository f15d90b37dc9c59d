// Layers: object stores that add one thing to the store below and pass the rest on. They are stacked in object/open.cc only.
// Thread-safe as far as the store below is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "object/encryption.h"
#include "object/object_store.h"

namespace aquifer::object {

// Passes everything on; a layer overrides what it changes.
class Layer : public ObjectStore {
 public:
  explicit Layer(std::unique_ptr<ObjectStore> below) : below_(std::move(below)) {}
  std::string describe() const override { return below_->describe(); }
  Capabilities capabilities() const override { return below_->capabilities(); }
  Status create() override { return below_->create(); }
  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override { return below_->get(key, off, out); }
  Status put(std::string_view key, Bytes data, uint8_t tier) override { return below_->put(key, data, tier); }
  Status remove(std::string_view key) override { return below_->remove(key); }
  Status removeMany(std::span<const std::string> keys) override { return below_->removeMany(keys); }
  Result<ObjectInfo> head(std::string_view key) override { return below_->head(key); }
  Status list(std::string_view prefix, std::string_view startAfter,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return below_->list(prefix, startAfter, visit);
  }
  Result<std::string> getAll(std::string_view key, uint64_t limit) override { return below_->getAll(key, limit); }
  void setLimits(int64_t uploadBps, int64_t downloadBps) override { below_->setLimits(uploadBps, downloadBps); }

 protected:
  const std::unique_ptr<ObjectStore> below_;
};

// `prefix` in front of every key.
std::unique_ptr<ObjectStore> addPrefix(std::unique_ptr<ObjectStore> below, std::string prefix);
// Whole objects in envelopes. Sizes of head and list are those of the envelopes.
std::unique_ptr<ObjectStore> addEncryption(std::unique_ptr<ObjectStore> below, std::unique_ptr<Encryptor> encryptor);
// Bytes per second of put and get, 0 = no limit.
std::unique_ptr<ObjectStore> addThrottle(std::unique_ptr<ObjectStore> below, int64_t uploadBps, int64_t downloadBps);
// object_request_* metrics, a debug line per request, an info line for a slow one.
std::unique_ptr<ObjectStore> addMetrics(std::unique_ptr<ObjectStore> below);
// Keys spread over `shards` by their hash; a listing merges those of all. At least one shard; each has to list in order.
std::unique_ptr<ObjectStore> joinShards(std::vector<std::unique_ptr<ObjectStore>> shards);

}  // namespace aquifer::object
