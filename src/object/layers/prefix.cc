#include "object/layers/layers.h"

namespace aquifer::object {

namespace {

class PrefixLayer : public Layer {
 public:
  PrefixLayer(std::unique_ptr<ObjectStore> below, std::string prefix) : Layer(std::move(below)), prefix_(std::move(prefix)) {}

  std::string describe() const override { return below_->describe() + prefix_; }
  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override { return below_->get(full(key), off, out); }
  Status put(std::string_view key, Bytes data, uint8_t tier) override { return below_->put(full(key), data, tier); }
  Status remove(std::string_view key) override { return below_->remove(full(key)); }
  Status removeMany(std::span<const std::string> keys) override {
    std::vector<std::string> all;
    all.reserve(keys.size());
    for (const auto& key : keys) all.push_back(full(key));
    return below_->removeMany(all);
  }
  Result<std::string> getAll(std::string_view key, uint64_t limit) override { return below_->getAll(full(key), limit); }

  Result<ObjectInfo> head(std::string_view key) override {
    TRY_ASSIGN(ObjectInfo info, below_->head(full(key)));
    return bare(std::move(info));
  }

  Status list(std::string_view prefix, std::string_view startAfter,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return below_->list(full(prefix), startAfter.empty() ? std::string() : full(startAfter), [&](const ObjectInfo& info) {
      // The folder that the prefix itself names has no key of ours.
      return info.key.size() <= prefix_.size() || visit(bare(info));
    });
  }

 private:
  std::string full(std::string_view key) const {
    std::string out;
    out.reserve(prefix_.size() + key.size());
    return (out += prefix_) += key;
  }
  ObjectInfo bare(ObjectInfo info) const {
    info.key.erase(0, prefix_.size());
    return info;
  }

  const std::string prefix_;
};

}  // namespace

std::unique_ptr<ObjectStore> addPrefix(std::unique_ptr<ObjectStore> below, std::string prefix) {
  return std::make_unique<PrefixLayer>(std::move(below), std::move(prefix));
}

}  // namespace aquifer::object
