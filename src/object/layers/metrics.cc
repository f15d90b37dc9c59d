#include "base/metrics.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stages.h"
#include "object/layers/layers.h"

namespace aquifer::object {

namespace {

constexpr double kSlowSeconds = 10;
// The class of a store that names none, which is what people see in their dashboards.
constexpr const char* kDefaultClass = "STANDARD";

struct MethodMetrics {
  MethodMetrics(const char* name, const char* storageClass)
      : method(name),
        durations(metrics::histogram("object_request_durations_histogram_seconds", "Object requests latency distributions.",
                                     metrics::exponentialBuckets(0.01, 1.5, 25),
                                     {{"method", name}, {"storage_class", storageClass}})) {}
  const char* const method;
  metrics::Histogram& durations;
};

metrics::Counter& bytesOf(const char* method) {
  return metrics::counter("object_request_data_bytes", "Object requests size in bytes.",
                          {{"method", method}, {"storage_class", kDefaultClass}});
}

class MetricsLayer : public Layer {
 public:
  using Layer::Layer;

  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override {
    ScopedStage stage(Stage::network);
    const int64_t start = monotonicNanos();
    auto n = below_->get(key, off, out);
    finish(get_, key, start, n ? Status() : n.status());
    if (n) getBytes_.add(static_cast<double>(*n));
    return n;
  }

  Status put(std::string_view key, Bytes data, uint8_t tier) override {
    ScopedStage stage(Stage::network);
    const int64_t start = monotonicNanos();
    Status result = below_->put(key, data, tier);
    finish(put_, key, start, result);
    if (result) putBytes_.add(static_cast<double>(data.size()));
    return result;
  }

  Status remove(std::string_view key) override {
    ScopedStage stage(Stage::network);
    const int64_t start = monotonicNanos();
    Status result = below_->remove(key);
    finish(remove_, key, start, result);
    return result;
  }

  // Counted as one.
  Status removeMany(std::span<const std::string> keys) override {
    ScopedStage stage(Stage::network);
    const int64_t start = monotonicNanos();
    Status result = below_->removeMany(keys);
    if (!keys.empty()) finish(remove_, keys.front(), start, result);
    return result;
  }

  Result<std::string> getAll(std::string_view key, uint64_t limit) override {
    ScopedStage stage(Stage::network);
    const int64_t start = monotonicNanos();
    auto bytes = below_->getAll(key, limit);
    finish(get_, key, start, bytes ? Status() : bytes.status());
    if (bytes) getBytes_.add(static_cast<double>(bytes->size()));
    return bytes;
  }

 private:
  void finish(const MethodMetrics& m, std::string_view key, int64_t start, const Status& result) {
    const double seconds = static_cast<double>(monotonicNanos() - start) / 1e9;
    m.durations.observe(seconds);
    if (!result) errors_.add();
    LOG_DEBUG("{} {} ({}, {:.3f}s)", m.method, key, result.text(), seconds);
    if (seconds > kSlowSeconds) LOG_INFO("slow request: {} {} ({}, {:.3f}s)", m.method, key, result.text(), seconds);
  }

  const MethodMetrics get_{"GET", kDefaultClass}, put_{"PUT", kDefaultClass}, remove_{"DELETE", ""};
  metrics::Counter& getBytes_ = bytesOf("GET");
  metrics::Counter& putBytes_ = bytesOf("PUT");
  metrics::Counter& errors_ = metrics::counter("object_request_errors", "Failed requests to object store.");
};

}  // namespace

std::unique_ptr<ObjectStore> addMetrics(std::unique_ptr<ObjectStore> below) {
  return std::make_unique<MetricsLayer>(std::move(below));
}

}  // namespace aquifer::object
