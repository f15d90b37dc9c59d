#include "chunk/cache/cache_dir.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "base/stages.h"
#include "base/thread_pool.h"
#include "base/uuid.h"
#include "chunk/cache/cache_metrics.h"

namespace aquifer::chunk {

namespace {

uint32_t nowSeconds() { return static_cast<uint32_t>(unixSeconds()); }

Result<std::string> readSmall(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errnoStatus(errno);
  char buf[256];
  const ssize_t n = ::read(fd, buf, sizeof buf);
  const int error = errno;
  ::close(fd);
  if (n < 0) return errnoStatus(error);
  return std::string(buf, static_cast<size_t>(n));
}

}  // namespace

CacheDir::CacheDir(const CacheDirConfig& config)
    : config_(config), dirMode_(dirModeFor(config.mode)), health_(!config.writeback), capacity_(config.capacity), itemLimit_(config.items),
      freeRatio_(config.freeRatio) {}

CacheDir::~CacheDir() {
  close();
  auto& m = CacheMetrics::get();
  m.blocks.add(-static_cast<double>(index_.items()));
  m.bytes.add(-static_cast<double>(index_.bytes()));
}

Result<std::unique_ptr<CacheDir>> CacheDir::open(const CacheDirConfig& config) {
  std::unique_ptr<CacheDir> dir(new CacheDir(config));
  TRY(dir->prepare());
  dir->checkSpace();
  dir->writer_ = std::thread([d = dir.get()] { d->writeLoop(); });
  dir->housekeeper_ = std::thread([d = dir.get()] { d->houseLoop(); });
  return dir;
}

Status CacheDir::prepare() {
  TRY(makeDirs(config_.root, dirMode_, true));
  TRY(makeDirs(config_.root + "/raw", dirMode_, true));
  const std::string lock = config_.root + "/.lock";
  // Two clients that start together agree on one id: the file appears whole, by link, and whoever comes second reads it.
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto text = readSmall(lock);
    if (text && !text->empty()) {
      id_ = *std::move(text);
      return {};
    }
    if (!text && !text.is(Code::notFound)) return std::move(text).status();
    if (text) (void)::unlink(lock.c_str());
    const std::string mine = randomUuid(), tmp = lock + "." + mine;
    TRY(writeBlockFile(tmp, {reinterpret_cast<const std::byte*>(mine.data()), mine.size()}, {}, {}, 0644, dirMode_));
    const int failed = ::link(tmp.c_str(), lock.c_str()) == 0 ? 0 : errno;
    if (failed != 0 && failed != EEXIST) {
      // A file system without hard links.
      if (::rename(tmp.c_str(), lock.c_str()) != 0) return errnoStatus(errno);
      continue;
    }
    (void)::unlink(tmp.c_str());
  }
  return Status(Code::io, "cannot make " + lock);
}

std::string CacheDir::pathIn(const char* area, const BlockId& block) const {
  std::string path = config_.root;
  path += '/';
  path += area;
  path += '/';
  path += blockKey(block.id, block.index, block.size, config_.hashPrefix);
  return path;
}

void CacheDir::indexed(const BlockId& block, uint32_t atime) {
  if (!index_.add(block, atime)) return;
  CacheMetrics::get().blocks.add();
  CacheMetrics::get().bytes.add(static_cast<double>(block.size + CacheIndex::kOverhead));
}

bool CacheDir::unindex(const BlockId& block) {
  open_.remove(block);
  if (!index_.erase(block)) return false;
  CacheMetrics::get().blocks.add(-1);
  CacheMetrics::get().bytes.add(-static_cast<double>(block.size + CacheIndex::kOverhead));
  return true;
}

void CacheDir::noteIo(const Status& s, int64_t startNanos) {
  const int64_t now = monotonicNanos();
  if (s.is(Code::io) || now - startNanos > health_.slowNanos()) {
    const auto before = health_.state();
    health_.failed(now);
    if (health_.state() != before) LOG_WARN("cache directory {} is unstable: {}", config_.root, s.text());
  }
}

bool CacheDir::read(const BlockId& block, uint32_t off, object::MutableBytes out) {
  if (pendingCount_.load(std::memory_order_acquire) > 0) {
    BufferRef data;
    {
      std::lock_guard lock(mu_);
      if (auto it = pending_.find(block); it != pending_.end()) data = it->second;
    }
    if (data) {
      if (off > data->size || out.size() > data->size - off) return false;
      std::memcpy(out.data(), data->data() + off, out.size());
      return true;
    }
  }
  if (!health_.usable()) return false;
  ScopedStage stage(Stage::cache);
  const int64_t start = monotonicNanos();
  auto file = open_.find(block);
  if (!file) {
    const bool known = index_.contains(block);
    if (!known && scanned()) return false;
    auto opened = BlockFile::open(rawPath(block), block.size, config_.checksum);
    if (!opened) {
      if (opened.is(Code::notFound)) {
        if (known) unindex(block);
      } else if (opened.is(Code::corrupt)) {
        dropDamaged(block);
      } else {
        noteIo(opened.status(), start);
      }
      return false;
    }
    file = *std::move(opened);
    open_.add(block, file);
    if (!known) indexed(block, nowSeconds());
  }
  const Status s = file->read(off, out);
  noteIo(s, start);
  if (s) {
    index_.touch(block, nowSeconds());
    CacheMetrics::get().readSeconds.observe(static_cast<double>(monotonicNanos() - start) / 1e9);
    return true;
  }
  if (s.is(Code::corrupt)) dropDamaged(block);
  return false;
}

void CacheDir::dropDamaged(const BlockId& block) {
  const std::string path = rawPath(block);
  LOG_WARN("remove partial cached block {}", path);
  unindex(block);
  (void)::unlink(path.c_str());
}

bool CacheDir::contains(const BlockId& block) {
  if (pendingCount_.load(std::memory_order_acquire) > 0) {
    std::lock_guard lock(mu_);
    if (pending_.count(block)) return true;
  }
  if (!health_.usable()) return false;
  if (index_.contains(block)) return true;
  if (scanned()) return false;
  struct stat st {};
  return ::stat(rawPath(block).c_str(), &st) == 0 && static_cast<uint64_t>(st.st_size) >= block.size;
}

void CacheDir::insert(const BlockId& block, const BufferRef& data, bool forced) {
  auto& m = CacheMetrics::get();
  if (data->size < block.size || block.size + CacheIndex::kOverhead > capacity_) return;
  if (!health_.usable() || (config_.eviction == Eviction::none && lowSpace())) {
    m.drops.add();
    return;
  }
  if (index_.contains(block)) return;
  std::unique_lock lock(mu_);
  if (stop_ || pending_.count(block)) return;
  if (queuedBytes_ > 0 && queuedBytes_ + block.size > config_.queueBytes) {
    if (!forced) {
      m.drops.add();
      return;
    }
    space_.wait(lock, [&] { return stop_ || queuedBytes_ == 0 || queuedBytes_ + block.size <= config_.queueBytes; });
    if (stop_ || pending_.count(block)) return;
  }
  queue_.push_back(block);
  pending_.emplace(block, data);
  pendingCount_.store(pending_.size(), std::memory_order_release);
  queuedBytes_ += block.size;
  work_.notify_one();
}

void CacheDir::erase(const BlockId& block) {
  {
    // The writer sees after its rename that the block is no longer wanted.
    std::lock_guard lock(mu_);
    if (pending_.erase(block)) pendingCount_.store(pending_.size(), std::memory_order_release);
  }
  const bool scanning = !scanned();
  if (!unindex(block) && !scanning) return;
  (void)::unlink(rawPath(block).c_str());
  if (scanning) unindex(block);  // the scan may have met the file just before
}

void CacheDir::adopt(const BlockId& block) {
  if (::access(rawPath(block).c_str(), F_OK) != 0) return;
  indexed(block, 0);
  if (overfull()) makeRoom();
}

void CacheDir::writeLoop() {
  setThreadName("cache-write");
  // Filling the cache yields to those who wait for an answer; what falls behind is dropped by insert().
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 5);
  std::unique_lock lock(mu_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const BlockId block = queue_.front();
    queue_.pop_front();
    BufferRef data;
    if (auto it = pending_.find(block); it != pending_.end()) data = it->second;
    lock.unlock();
    if (data) writeOne(block, data);
    data.reset();
    lock.lock();
    if (pending_.erase(block)) pendingCount_.store(pending_.size(), std::memory_order_release);
    queuedBytes_ -= block.size;
    space_.notify_all();
  }
}

void CacheDir::writeOne(const BlockId& block, const BufferRef& data) {
  auto& m = CacheMetrics::get();
  if (!health_.usable()) return;
  const int64_t start = monotonicNanos();
  const object::Bytes bytes(data->data(), block.size);
  const std::string trailer = config_.checksum == Checksum::none ? std::string() : crcTrailer(bytes);
  const std::string path = rawPath(block);
  const Status s = writeBlockFile(path, bytes, trailer, {}, config_.mode, dirMode_);
  noteIo(s, start);
  if (!s) {
    m.drops.add();
    if (s.is(Code::noSpace) || s.is(Code::quotaExceeded)) {
      lowSpace_ = true;  // until the housekeeper has looked
      makeRoom();
    } else {
      LOG_WARN("cache {}: {}", path, s.text());
    }
    return;
  }
  indexed(block, nowSeconds());
  bool wanted;
  {
    std::lock_guard lock(mu_);
    wanted = pending_.count(block) > 0;
  }
  if (!wanted) {
    unindex(block);
    (void)::unlink(path.c_str());
    return;
  }
  m.writes.add();
  m.writeBytes.add(block.size);
  m.writeSeconds.observe(static_cast<double>(monotonicNanos() - start) / 1e9);
  if (overfull()) makeRoom();
}

void CacheDir::close() {
  {
    std::lock_guard lock(mu_);
    stop_ = true;
  }
  work_.notify_all();
  space_.notify_all();
  tick_.notify_all();
  if (writer_.joinable()) writer_.join();
  if (housekeeper_.joinable()) housekeeper_.join();
}

}  // namespace aquifer::chunk
