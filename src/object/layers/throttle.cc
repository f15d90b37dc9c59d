#include "base/clock.h"
#include "base/stages.h"
#include "object/layers/layers.h"
#include "object/token_bucket.h"

namespace aquifer::object {

namespace {

class ThrottleLayer : public Layer {
 public:
  ThrottleLayer(std::unique_ptr<ObjectStore> below, int64_t uploadBps, int64_t downloadBps) : Layer(std::move(below)) {
    ThrottleLayer::setLimits(uploadBps, downloadBps);
  }

  Result<size_t> get(std::string_view key, uint64_t off, MutableBytes out) override {
    // How many bytes there are is known afterwards; what was taken too much goes back.
    take(download_, out.size());
    auto n = below_->get(key, off, out);
    download_.giveBack(out.size() - (n ? *n : 0));
    return n;
  }

  Status put(std::string_view key, Bytes data, uint8_t tier) override {
    take(upload_, data.size());
    return below_->put(key, data, tier);
  }

  void setLimits(int64_t uploadBps, int64_t downloadBps) override {
    const int64_t now = monotonicNanos();
    upload_.setLimit(uploadBps, now);
    download_.setLimit(downloadBps, now);
    below_->setLimits(uploadBps, downloadBps);
  }

 private:
  static void take(TokenBucket& bucket, size_t bytes) {
    ScopedStage stage(Stage::limit);
    bucket.take(bytes);
  }
  TokenBucket upload_, download_;
};

}  // namespace

std::unique_ptr<ObjectStore> addThrottle(std::unique_ptr<ObjectStore> below, int64_t uploadBps, int64_t downloadBps) {
  return std::make_unique<ThrottleLayer>(std::move(below), uploadBps, downloadBps);
}

}  // namespace aquifer::object
