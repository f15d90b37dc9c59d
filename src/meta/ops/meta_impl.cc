#include "meta/ops/meta_impl.h"

#include "base/clock.h"
#include "base/log.h"

namespace aquifer::meta {

namespace {

constexpr uint64_t kInodeBatch = 1024, kSliceBatch = 4096;
constexpr size_t kPurgeQueue = 1000;

}  // namespace

std::unique_ptr<Meta> makeMeta(std::unique_ptr<MetaStore> store, const MetaConfig& config) {
  return std::make_unique<MetaImpl>(std::move(store), config);
}

namespace {
MetaConfig withDefaults(MetaConfig config, const StoreTraits& traits) {
  if (config.skipDirMtime.count() < 0) config.skipDirMtime = std::chrono::milliseconds(traits.embedded ? 0 : 100);
  return config;
}
}  // namespace

MetaImpl::MetaImpl(std::unique_ptr<MetaStore> store, const MetaConfig& config)
    : store_(std::move(store)),
      config_(withDefaults(config, store_->traits())),
      format_(std::make_shared<const Format>()),
      inodes_(kInodeBatch, kInodeBatch / 10, kRootIno + 1, [this](uint64_t n) { return takeIds(counter::kNextInode, n); }),
      slices_(kSliceBatch, kSliceBatch / 10, 1, [this](uint64_t n) { return takeIds(counter::kNextChunk, n); }),
      deleter_(std::make_unique<ThreadPool>("deleter", std::max(1, config.maxDeletes), kPurgeQueue)),
      jobs_(makeJobs(*this)) {}

MetaImpl::~MetaImpl() {
  quitting_.store(true, std::memory_order_release);
  jobs_->stop();
  deleter_->stop();
}

Time MetaImpl::now() {
  auto nanos = unixNanos();
  return {nanos / 1'000'000'000, static_cast<uint32_t>(nanos % 1'000'000'000)};
}

std::shared_ptr<const Format> MetaImpl::formatNow() const {
  std::shared_lock lock(formatMu_);
  return format_;
}

void MetaImpl::setFormat(Format format) {
  auto fresh = std::make_shared<const Format>(std::move(format));
  std::shared_ptr<const Format> old;
  {
    std::unique_lock lock(formatMu_);
    old = std::exchange(format_, fresh);
  }
  if (old->uuid.empty() || formatToJson(*old) == formatToJson(*fresh)) return;
  std::function<void(const Format&)> changed;
  {
    std::lock_guard lock(hooksMu_);
    changed = onFormatChange_;
  }
  if (changed) changed(*fresh);
}

void MetaImpl::setDataHooks(DataHooks hooks) {
  std::lock_guard lock(hooksMu_);
  hooks_ = std::move(hooks);
}

DataHooks MetaImpl::dataHooks() const {
  std::lock_guard lock(hooksMu_);
  return hooks_;
}

void MetaImpl::onFatal(std::function<void(const std::string&)> stop) {
  std::lock_guard lock(hooksMu_);
  onFatal_ = std::move(stop);
}

void MetaImpl::onFormatChange(std::function<void(const Format&)> changed) {
  std::lock_guard lock(hooksMu_);
  onFormatChange_ = std::move(changed);
}

void MetaImpl::fatal(const std::string& why) {
  std::function<void(const std::string&)> stop;
  {
    std::lock_guard lock(hooksMu_);
    stop = onFatal_;
  }
  LOG_ERROR("{}", why);
  if (stop) stop(why);
}

Status MetaImpl::txn(std::string_view operation, const TxnBody& body, const std::function<Result<bool>(MetaTxn&)>& confirm) {
  if (config_.readOnly) return Code::readOnly;
  return withTxn(*store_, {.operation = operation}, body, {}, confirm);
}

Status MetaImpl::read(std::string_view operation, const TxnBody& body) { return withRead(*store_, operation, body); }

Result<uint64_t> MetaImpl::takeIds(std::string_view counter, uint64_t n) {
  uint64_t first = 0;
  auto key = key::counter(counter);
  TRY(txn(
      "takeIds",
      [&](MetaTxn& tx) -> Status {
        TRY_ASSIGN(auto value, tx.find<int64_t>(key));
        first = static_cast<uint64_t>(value.value_or(0));
        tx.put(key, static_cast<int64_t>(first + n));
        return {};
      },
      // After a commit that may or may not have happened: take another batch; the first one is lost.
      [](MetaTxn&) -> Result<bool> { return false; }));
  return first;
}

}  // namespace aquifer::meta
