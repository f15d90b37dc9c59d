#include "chunk/cache/staging.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stages.h"
#include "chunk/cache/cache_metrics.h"

namespace aquifer::chunk {

Staging::Staging(const BlockConfig& config, DiskCache& cache, Hooks hooks)
    : config_(config),
      cache_(cache),
      hooks_(std::move(hooks)),
      dirMode_(dirModeFor(config.cacheMode)),
      pool_("stage-upload", std::max(1, config.maxUploads), static_cast<size_t>(std::max(1, config.maxUploads))) {}

Staging::~Staging() {
  stop();
  auto& m = CacheMetrics::get();
  m.stagingBlocks.add(-static_cast<double>(blocks()));
  m.stagingBytes.add(-static_cast<double>(bytes()));
}

void Staging::start() {
  thread_ = std::thread([this] { loop(); });
}

void Staging::stop() {
  {
    std::lock_guard lock(mu_);
    stop_ = true;
  }
  tick_.notify_all();
  if (thread_.joinable()) thread_.join();
  pool_.stop();
}

Status Staging::stage(const BlockId& block, const BufferRef& data, uint8_t tier) {
  auto* dir = cache_.owner(block);
  if (!dir || dir->stageFull() || stop_) return Code::noSpace;
  auto& m = CacheMetrics::get();
  if (const int now = writing_.fetch_add(1); config_.maxStageWrite > 0 && now >= config_.maxStageWrite) {
    writing_.fetch_sub(1);
    return Code::busy;
  }
  m.stagingWriting.add();
  if (!scanned_.load()) {
    std::lock_guard lock(mu_);
    own_.insert(block);
  }
  const int64_t start = monotonicNanos();
  const object::Bytes bytes(data->data(), block.size);
  const std::string trailer = config_.checksum == Checksum::none ? std::string() : crcTrailer(bytes);
  const std::string path = dir->stagedPath(block);
  Status s = writeBlockFile(path, bytes, trailer, tierFooter(tier, !trailer.empty()), config_.cacheMode, dirMode_);
  writing_.fetch_sub(1);
  m.stagingWriting.add(-1);
  if (s && monotonicNanos() - start > int64_t{config_.putTimeoutMs} * 1'000'000) {
    // The store would have been faster; do not build on a disk in this state.
    (void)::unlink(path.c_str());
    s = Code::timedOut;
  }
  if (!s) {
    m.stagingErrors.add();
    LOG_WARN("stage {}: {}; uploading directly", path, s.text());
    return s;
  }
  // The second name keeps the bytes as an ordinary cached block once they are uploaded.
  const std::string raw = dir->rawPath(block);
  if (::link(path.c_str(), raw.c_str()) != 0 && errno == ENOENT && makeDirs(raw.substr(0, raw.find_last_of('/')), dirMode_))
    (void)::link(path.c_str(), raw.c_str());
  m.stagingWriteBytes.add(block.size);
  m.writes.add();
  m.writeBytes.add(block.size);
  m.writeSeconds.observe(static_cast<double>(monotonicNanos() - start) / 1e9);
  add(block, dir, unixSeconds(), tier);
  if (config_.uploadDelaySec <= 0 && inHours() && hooks_.uploadIdle()) {
    {
      std::lock_guard lock(mu_);
      if (auto it = entries_.find(block); it != entries_.end()) it->second.memory = data;
    }
    if (!startUpload(block)) {
      std::lock_guard lock(mu_);
      if (auto it = entries_.find(block); it != entries_.end()) it->second.memory = nullptr;
    }
  }
  return {};
}

void Staging::add(const BlockId& block, CacheDir* dir, int64_t stagedAt, uint8_t tier) {
  std::lock_guard lock(mu_);
  auto [it, fresh] = entries_.try_emplace(block);
  if (!fresh) return;
  it->second.dir = dir;
  it->second.stagedAt = stagedAt;
  it->second.tier = tier;
  order_.emplace(stagedAt, block);
  bytes_.fetch_add(block.size, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  CacheMetrics::get().stagingBlocks.add();
  CacheMetrics::get().stagingBytes.add(block.size);
}

bool Staging::remove(const BlockId& block) {
  auto it = entries_.find(block);
  if (it == entries_.end()) return false;
  order_.erase({it->second.stagedAt, block});
  entries_.erase(it);
  bytes_.fetch_sub(block.size, std::memory_order_relaxed);
  count_.fetch_sub(1, std::memory_order_relaxed);
  CacheMetrics::get().stagingBlocks.add(-1);
  CacheMetrics::get().stagingBytes.add(-static_cast<double>(block.size));
  return true;
}

std::shared_ptr<BlockFile> Staging::open(const BlockId& block) {
  CacheDir* dir = locate(block);
  if (!dir) return nullptr;
  auto file = BlockFile::open(dir->stagedPath(block), block.size, config_.checksum);
  if (file) return *std::move(file);
  if (!file.is(Code::notFound)) LOG_ERROR("staged block {}: {}", dir->stagedPath(block), file.status().text());
  return nullptr;
}

CacheDir* Staging::locate(const BlockId& block) {
  const bool scanned = scanned_.load();
  if (scanned && blocks() == 0) return nullptr;
  {
    std::lock_guard lock(mu_);
    if (auto it = entries_.find(block); it != entries_.end()) return it->second.dir;
  }
  if (scanned) return nullptr;
  std::lock_guard one(scanMu_);
  for (auto& dir : cache_.dirs())
    if (struct stat st {}; ::stat(dir->stagedPath(block).c_str(), &st) == 0 && S_ISREG(st.st_mode)) {
      add(block, dir.get(), st.st_mtim.tv_sec, 0);
      return dir.get();
    }
  return nullptr;
}

bool Staging::read(const BlockId& block, uint32_t off, object::MutableBytes out) {
  auto file = open(block);
  if (!file) return false;
  ScopedStage stage(Stage::cache);
  const int64_t start = monotonicNanos();
  const Status s = file->read(off, out);
  if (!s) {
    // The only copy: it is kept for a person to look at, and never served or uploaded.
    LOG_ERROR("staged block {}_{}_{} is damaged: {}", block.id, block.index, block.size, s.text());
    return false;
  }
  CacheMetrics::get().readSeconds.observe(static_cast<double>(monotonicNanos() - start) / 1e9);
  return true;
}

bool Staging::contains(const BlockId& block, std::string* where) {
  CacheDir* dir = locate(block);
  if (!dir) return false;
  if (where) *where = dir->root() + "/";
  return true;
}

void Staging::erase(const BlockId& block) {
  CacheDir* dir = locate(block);
  if (!dir) return;
  const auto one = againstScan();
  {
    std::lock_guard lock(mu_);
    remove(block);
  }
  (void)::unlink(dir->stagedPath(block).c_str());
  (void)::unlink(dir->rawPath(block).c_str());
}

}  // namespace aquifer::chunk
