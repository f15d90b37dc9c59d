// The other half of write-back: finding what an earlier process left, and uploading what is due, oldest first.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "base/log.h"
#include "chunk/cache/cache_metrics.h"
#include "chunk/cache/staging.h"

namespace aquifer::chunk {

namespace {

constexpr int64_t kTmpAgeSec = 60, kRetrySec = 60;
constexpr int kMaxDepth = 8;

}  // namespace

bool hourAllowed(int hour, int from, int to) {
  if (from == to) return true;
  return from < to ? from <= hour && hour < to : hour >= from || hour < to;
}

bool Staging::inHours() const {
  const time_t now = unixSeconds();
  tm local{};
  ::localtime_r(&now, &local);
  return hourAllowed(local.tm_hour, config_.uploadHourFrom, config_.uploadHourTo);
}

void Staging::scan(CacheDir* dir, const std::string& folder, const std::string& key, int depth) {
  DIR* d = ::opendir(folder.c_str());
  if (!d) return;
  size_t kept = 0;
  struct stat self {};
  const bool fresh = ::fstat(dirfd(d), &self) != 0 || self.st_mtim.tv_sec + kTmpAgeSec >= unixSeconds();
  while (dirent* e = ::readdir(d)) {
    if (stop_) break;
    const std::string_view name = e->d_name;
    if (name == "." || name == "..") continue;
    struct stat st {};
    if (::fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::string child = folder + "/" + e->d_name, childKey = key.empty() ? e->d_name : key + "/" + e->d_name;
    if (S_ISDIR(st.st_mode)) {
      ++kept;
      if (depth < kMaxDepth) scan(dir, child, childKey, depth + 1);
      continue;
    }
    if (name.ends_with(".tmp")) {
      if (st.st_mtim.tv_sec + kTmpAgeSec < unixSeconds())
        (void)::unlink(child.c_str());
      else
        ++kept;
      continue;
    }
    ++kept;
    BlockId block;
    // The file must be the one that its name leads to, else it would be uploaded from nowhere.
    if (!S_ISREG(st.st_mode) || !parseBlockKey(name, &block.id, &block.index, &block.size) ||
        (childKey != blockKey(block.id, block.index, block.size, false) && childKey != blockKey(block.id, block.index, block.size, true)) ||
        child != dir->stagedPath(block)) {
      LOG_WARN("ignore {} in the staging area", child);
      continue;
    }
    std::lock_guard one(scanMu_);
    if (isOwn(block)) continue;
    if (::access(child.c_str(), F_OK) == 0) add(block, dir, st.st_mtim.tv_sec, 0);   // not deleted since it was listed
  }
  ::closedir(d);
  if (kept == 0 && depth > 0 && !fresh && !stop_) (void)::rmdir(folder.c_str());
}

void Staging::loop() {
  setThreadName("stage");
  for (auto& dir : cache_.dirs()) scan(dir.get(), dir->root() + "/rawstaging", "", 0);
  {
    std::lock_guard lock(mu_);
    scanned_ = true;
    own_.clear();
  }
  if (blocks() > 0) LOG_INFO("{} staged blocks ({} bytes) wait for upload", blocks(), bytes());
  while (!stop_) {
    relieve();
    if (inHours()) startUploads();
    std::unique_lock lock(mu_);
    tick_.wait_for(lock, std::chrono::milliseconds(500), [&] { return stop_.load(); });
  }
}

void Staging::startUploads() {
  const int64_t now = unixSeconds();
  std::vector<BlockId> due;
  {
    std::lock_guard lock(mu_);
    const size_t most = 4 * static_cast<size_t>(std::max(1, config_.maxUploads));
    for (auto& [stagedAt, block] : order_) {
      if (stagedAt + config_.uploadDelaySec > now || due.size() >= most) break;
      if (auto& e = entries_[block]; e.notBefore <= now) due.push_back(block);
    }
  }
  for (auto& block : due)
    if (!startUpload(block)) return;
}

void Staging::relieve() {
  if (config_.uploadDelaySec <= 0 && config_.uploadHourFrom == config_.uploadHourTo) return;
  if (std::none_of(cache_.dirs().begin(), cache_.dirs().end(), [](auto& d) { return d->lowSpace(); })) return;
  std::vector<BlockId> some;
  {
    // Those of full disks, oldest first; within a minute the bigger ones, which free more.
    std::lock_guard lock(mu_);
    std::vector<std::pair<int64_t, BlockId>> all;
    for (auto& [stagedAt, block] : order_) {
      if (all.size() >= 256) break;
      if (entries_[block].dir->lowSpace() && entries_[block].notBefore <= unixSeconds()) all.emplace_back(stagedAt / 60, block);
    }
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.size > b.second.size;
    });
    for (auto& [minute, block] : all) some.push_back(block);
  }
  for (auto& block : some)
    if (!startUpload(block)) return;
}

bool Staging::startUpload(const BlockId& block) {
  {
    std::lock_guard lock(mu_);
    auto it = entries_.find(block);
    if (it == entries_.end() || it->second.uploading) return true;
    it->second.uploading = true;
    order_.erase({it->second.stagedAt, block});
  }
  if (pool_.trySubmit([this, block] { upload(block); })) return true;
  std::lock_guard lock(mu_);
  if (auto it = entries_.find(block); it != entries_.end()) {
    it->second.uploading = false;
    order_.emplace(it->second.stagedAt, block);
  }
  return false;
}

void Staging::upload(BlockId block) {
  BufferRef data;
  uint8_t tier = 0;
  {
    std::lock_guard lock(mu_);
    auto it = entries_.find(block);
    if (it == entries_.end()) return;
    data = std::move(it->second.memory);
    it->second.memory = nullptr;
    tier = it->second.tier;
  }
  Status s;
  if (stop_) {
    s = Code::interrupted;
  } else if (!data) {
    auto file = open(block);
    if (!file) {
      s = Code::notFound;
    } else {
      tier = file->tier();
      auto buffer = hooks_.buffer(block.size);
      if (buffer) {
        data = *std::move(buffer);
        data->size = block.size;
        s = file->read(0, {data->data(), block.size});
      } else {
        s = std::move(buffer).status();
      }
    }
  }
  if (s) s = hooks_.upload(block, {data->data(), block.size}, tier);
  data.reset();
  if (s) {
    uploaded(block);
    return;
  }
  std::lock_guard lock(mu_);
  auto it = entries_.find(block);
  if (it == entries_.end()) return;
  if (s.is(Code::notFound) && ::access(it->second.dir->stagedPath(block).c_str(), F_OK) != 0) {
    // Somebody took the file away; nothing is left that could be uploaded.
    LOG_ERROR("staged block {} has vanished before its upload", it->second.dir->stagedPath(block));
    remove(block);
    return;
  }
  if (!stop_) LOG_WARN("upload of staged block {}: {}", it->second.dir->stagedPath(block), s.text());
  it->second.uploading = false;
  it->second.memory = nullptr;   // set by a stage() that came while this upload had begun already: writers need it more
  it->second.notBefore = unixSeconds() + kRetrySec;
  order_.emplace(it->second.stagedAt, block);
}

void Staging::uploaded(const BlockId& block) {
  CacheDir* dir = nullptr;
  {
    std::lock_guard lock(mu_);
    if (auto it = entries_.find(block); it != entries_.end()) {
      dir = it->second.dir;
      CacheMetrics::get().stagingDelay.add(static_cast<double>(std::max<int64_t>(0, unixSeconds() - it->second.stagedAt)));
    }
  }
  if (!dir) {
    // Deleted while it was on its way.
    hooks_.removeObject(block);
    return;
  }
  // First known as cached, then no longer as staged: a reader finds it at every moment.
  dir->adopt(block);
  bool mine;
  {
    std::lock_guard lock(mu_);
    mine = remove(block);
  }
  (void)::unlink(dir->stagedPath(block).c_str());
  if (!mine) {
    dir->erase(block);
    hooks_.removeObject(block);
  }
}

}  // namespace aquifer::chunk
