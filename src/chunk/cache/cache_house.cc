// The housekeeper of a cache directory: scan, free space, eviction, expiry, identity, disk probe.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "chunk/cache/cache_dir.h"
#include "chunk/cache/cache_metrics.h"

namespace aquifer::chunk {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kIdleFile = 10 * kSecond;
constexpr int64_t kTmpAgeSec = 60;
constexpr int kMaxDepth = 8;   // chunks/a/b/file is 4; more is not ours and may be a loop
constexpr size_t kExpireSample = 1000;

struct Space {
  uint64_t totalBytes = 0, totalItems = 0;
  double freeBytes = 1, freeItems = 1;   // shares, as an unprivileged user sees them
};

bool spaceOf(const std::string& path, Space* out) {
  struct statvfs st {};
  if (::statvfs(path.c_str(), &st) != 0 || st.f_blocks == 0) return false;
  out->totalBytes = st.f_blocks * st.f_frsize;
  out->freeBytes = static_cast<double>(st.f_bavail) / static_cast<double>(st.f_blocks);
  out->totalItems = st.f_files;
  if (st.f_files) out->freeItems = static_cast<double>(st.f_favail) / static_cast<double>(st.f_files);
  return true;
}

}  // namespace

void CacheDir::checkSpace() {
  Space space;
  if (!spaceOf(config_.root, &space)) return;
  const double freeRatio = freeRatio_;
  // What the volume may take at most: the operator's size, or what the file system has beyond the reserve.
  const double share = std::clamp(1 - freeRatio, 0.0, 1.0);
  capacity_ = std::min<uint64_t>(config_.capacity, static_cast<uint64_t>(static_cast<double>(space.totalBytes) * share));
  if (space.totalItems) {
    const auto most = static_cast<uint64_t>(static_cast<double>(space.totalItems) * share);
    itemLimit_ = config_.items == 0 ? most : std::min(config_.items, most);
  }
  const double least = std::min(space.freeBytes, space.freeItems);
  stageFull_ = least < freeRatio / 2;
  lowSpace_ = least < freeRatio;
  if (!lowSpace_ || config_.eviction == Eviction::none) return;
  auto lack = [&](double free, uint64_t total) {
    return free < freeRatio ? static_cast<uint64_t>((freeRatio - free) * static_cast<double>(total)) : 0;
  };
  auto less = [](uint64_t have, uint64_t lacks) { return have > lacks ? have - lacks : 0; };
  removeVictims(index_.evict(config_.eviction, less(index_.bytes(), lack(space.freeBytes, space.totalBytes)),
                             less(index_.items(), lack(space.freeItems, space.totalItems)), static_cast<uint32_t>(unixSeconds()),
                             static_cast<uint32_t>(config_.expireSec)));
}

void CacheDir::makeRoom() {
  if (config_.eviction == Eviction::none) return;
  if (lowSpace()) {
    checkSpace();
    return;
  }
  const uint64_t goalItems = itemLimit_ ? itemLimit_ * 99 / 100 : UINT64_MAX;
  removeVictims(index_.evict(config_.eviction, capacity_ / 100 * 95, goalItems, static_cast<uint32_t>(unixSeconds()),
                             static_cast<uint32_t>(config_.expireSec)));
}

void CacheDir::removeVictims(const std::vector<BlockId>& victims) {
  auto& m = CacheMetrics::get();
  for (auto& v : victims) {
    open_.remove(v);
    (void)::unlink(rawPath(v).c_str());
    m.evicts.add();
    m.blocks.add(-1);
    m.bytes.add(-static_cast<double>(v.size + CacheIndex::kOverhead));
  }
}

void CacheDir::expire() {
  if (config_.expireSec <= 0) return;
  // As long as a good part of the sample was stale there is more.
  for (int round = 0; round < 100 && !stop_; ++round) {
    auto old = index_.expired(static_cast<uint32_t>(unixSeconds()), static_cast<uint32_t>(config_.expireSec), kExpireSample);
    removeVictims(old);
    if (old.size() < kExpireSample / 4) return;
  }
}

void CacheDir::scan() {
  const int64_t start = unixSeconds();
  index_.beginScan();
  scanFolder(config_.root + "/raw", 0, start);
  if (stop_) return;
  for (auto& gone : index_.endScan()) {
    open_.remove(gone);
    CacheMetrics::get().blocks.add(-1);
    CacheMetrics::get().bytes.add(-static_cast<double>(gone.size + CacheIndex::kOverhead));
  }
  const bool first = !scanned_.exchange(true);
  if (first)
    LOG_INFO("found {} cached blocks ({} bytes) in {} in {} s", index_.items(), index_.bytes(), config_.root, unixSeconds() - start);
  if (overfull()) makeRoom();
}

void CacheDir::scanFolder(const std::string& path, int depth, int64_t start) {
  DIR* dir = ::opendir(path.c_str());
  if (!dir) return;
  size_t kept = 0;
  struct stat self {};
  const bool fresh = ::fstat(dirfd(dir), &self) != 0 || self.st_mtim.tv_sec + kTmpAgeSec >= start;
  while (dirent* e = ::readdir(dir)) {
    if (stop_) break;
    const std::string_view name = e->d_name;
    if (name == "." || name == "..") continue;
    struct stat st {};
    if (::fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::string child = path + "/" + e->d_name;
    if (S_ISDIR(st.st_mode)) {
      ++kept;
      if (depth < kMaxDepth) scanFolder(child, depth + 1, start);
      continue;
    }
    if (name.ends_with(".tmp")) {
      if (st.st_mtim.tv_sec + kTmpAgeSec < start)
        (void)::unlink(child.c_str());
      else
        ++kept;
      continue;
    }
    ++kept;
    BlockId block;
    if (!S_ISREG(st.st_mode) || !parseBlockKey(name, &block.id, &block.index, &block.size)) continue;
    if (st.st_nlink > 1) continue;  // staged: StagedBlocks answers for it
    if (child != rawPath(block)) continue;  // a reader would never look here
    indexed(block, static_cast<uint32_t>(std::max<int64_t>(0, st.st_atim.tv_sec)));
    if (::faccessat(dirfd(dir), e->d_name, F_OK, 0) != 0) unindex(block);  // erased since we saw it
  }
  ::closedir(dir);
  // Old empties only: somebody has just made the others to write into them.
  if (kept == 0 && depth > 0 && !fresh && !stop_) (void)::rmdir(path.c_str());
}

void CacheDir::checkLock() {
  if (lockLost_ || ::access((config_.root + "/.lock").c_str(), F_OK) == 0 || errno != ENOENT) return;
  lockLost_ = true;
  LOG_WARN("the identity {}/.lock of the cache directory is gone", config_.root);
  // Probably the disk was unmounted and we now fill the root file system: leave more of that alone.
  struct stat here {}, root {};
  if (::stat(config_.root.c_str(), &here) == 0 && ::stat("/", &root) == 0 && here.st_dev == root.st_dev)
    freeRatio_ = std::max(freeRatio_.load(), 0.2);
}

void CacheDir::probe() {
  const std::string folder = config_.root + "/raw/probe", path = folder + "/probe";
  constexpr std::byte kProbe[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  const int64_t start = monotonicNanos();
  bool ok = writeBlockFile(path, kProbe, {}, {}, config_.mode, dirMode_).isOk();
  if (ok) {
    auto file = BlockFile::open(path, sizeof kProbe, Checksum::none);
    std::byte back[3] = {};
    ok = file && (*file)->read(0, back).isOk() && std::memcmp(back, kProbe, sizeof back) == 0;
    ok = ::unlink(path.c_str()) == 0 && ok;
  }
  const auto before = health_.state();
  health_.probed(ok && monotonicNanos() - start <= health_.slowNanos(), monotonicNanos());
  if (health_.state() != before)
    LOG_WARN("cache directory {} is {}", config_.root, health_.usable() ? "usable again" : "down and no longer used");
}

void CacheDir::houseLoop() {
  setThreadName("cache-house");
  int64_t lastScan = monotonicNanos(), lastMinute = lastScan;
  if (config_.scanIntervalSec >= 0) scan();
  while (!stop_) {
    {
      std::unique_lock lock(mu_);
      const bool unstable = health_.state() == DiskHealth::State::unstable;
      tick_.wait_for(lock, std::chrono::milliseconds(unstable ? 500 : 1000), [&] { return stop_.load(); });
    }
    if (stop_) return;
    if (health_.state() == DiskHealth::State::unstable) probe();
    if (!health_.usable()) continue;
    checkSpace();
    open_.dropIdle(kIdleFile);
    expire();
    const int64_t now = monotonicNanos();
    if (now - lastMinute >= 10 * kSecond) {
      lastMinute = now;
      checkLock();
    }
    if (config_.scanIntervalSec > 0 && now - lastScan >= config_.scanIntervalSec * kSecond) {
      lastScan = now;
      scan();
    }
  }
}

}  // namespace aquifer::chunk
