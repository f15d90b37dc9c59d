// Objects in memory, shared by every store of this process that names the same bucket. For tests and benchmarks.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/clock.h"
#include "object/drivers/drivers.h"

namespace aquifer::object {

namespace {

struct Object {
  std::string bytes;
  int64_t mtime = 0;
};

struct Bucket {
  std::shared_mutex mu;
  // shared_ptr: a reader copies from an object while a writer replaces it, without holding the lock.
  std::map<std::string, std::shared_ptr<const Object>, std::less<>> objects;
};

std::shared_ptr<Bucket> bucketNamed(const std::string& name) {
  static std::mutex mu;
  static auto* buckets = new std::map<std::string, std::shared_ptr<Bucket>>;
  std::lock_guard lock(mu);
  auto& bucket = (*buckets)[name];
  if (!bucket) bucket = std::make_shared<Bucket>();
  return bucket;
}

class MemObjectStore : public ObjectStore {
 public:
  explicit MemObjectStore(const std::string& name) : name_(name), bucket_(bucketNamed(name)) {}

  std::string describe() const override { return "mem://" + name_ + "/"; }
  Capabilities capabilities() const override { return {}; }

  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override {
    const auto object = find(key);
    if (!object) return missing(key);
    if (off >= object->bytes.size()) return size_t{0};
    const size_t n = std::min<uint64_t>(out.size(), object->bytes.size() - off);
    std::memcpy(out.data(), object->bytes.data() + off, n);
    return n;
  }

  Status put(std::string_view key, Bytes data, uint8_t) override {
    if (key.empty()) return {Code::invalid, "an object needs a key"};
    auto object = std::make_shared<Object>();
    object->bytes.assign(reinterpret_cast<const char*>(data.data()), data.size());
    object->mtime = unixSeconds();
    std::lock_guard lock(bucket_->mu);
    bucket_->objects[std::string(key)] = std::move(object);
    return {};
  }

  Status remove(std::string_view key) override {
    std::lock_guard lock(bucket_->mu);
    if (auto it = bucket_->objects.find(key); it != bucket_->objects.end()) bucket_->objects.erase(it);
    return {};
  }

  Result<ObjectInfo> head(std::string_view key) override {
    const auto object = find(key);
    if (!object) return missing(key);
    return info(std::string(key), *object);
  }

  Status list(std::string_view prefix, std::string_view startAfter,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    constexpr size_t kBatch = 1000;
    std::string after(startAfter);
    bool first = after.empty();  // nothing to be after: a key equal to the prefix counts
    for (;;) {
      std::vector<ObjectInfo> batch;
      {
        std::shared_lock lock(bucket_->mu);
        auto it = first || after < prefix ? bucket_->objects.lower_bound(prefix) : bucket_->objects.upper_bound(after);
        for (; it != bucket_->objects.end() && it->first.starts_with(prefix) && batch.size() < kBatch; ++it) {
          batch.push_back(info(it->first, *it->second));
        }
      }
      // Outside the lock: a visitor may delete what it sees.
      for (const auto& object : batch) {
        if (!visit(object)) return {};
      }
      if (batch.size() < kBatch) return {};
      after = batch.back().key;
      first = false;
    }
  }

 private:
  std::shared_ptr<const Object> find(std::string_view key) {
    std::shared_lock lock(bucket_->mu);
    const auto it = bucket_->objects.find(key);
    return it == bucket_->objects.end() ? nullptr : it->second;
  }
  static Status missing(std::string_view key) { return {Code::notFound, "no object " + std::string(key)}; }
  static ObjectInfo info(std::string key, const Object& object) {
    const bool isDir = key.ends_with('/');
    return {.key = std::move(key), .size = object.bytes.size(), .mtime = object.mtime, .isDir = isDir};
  }

  const std::string name_;
  const std::shared_ptr<Bucket> bucket_;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> openMemDriver(const StoreConfig& config) {
  return std::unique_ptr<ObjectStore>(std::make_unique<MemObjectStore>(config.bucket));
}

}  // namespace aquifer::object
