// Command 1004: bring the blocks of files into the local cache, drop them from it, or see what is there.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "base/log.h"
#include "base/thread_pool.h"
#include "meta/model/json_text.h"
#include "meta/model/slices.h"
#include "vfs/control/runner.h"
#include "vfs/control/walk.h"

namespace aquifer::vfs {

namespace {
enum class Action : uint8_t { warm = 0, evict = 1, check = 2 };

class CacheJob {
 public:
  CacheJob(ControlCall& call, Action action) : call_(call), action_(action), report_(call.progress()) {}

  void run(const std::vector<std::string>& paths, int threads) {
    ThreadPool pool("cache-files", threads, 1000);
    for (auto& path : paths) {
      if (call_.ctx.isInterrupted()) break;
      auto entry = resolvePath(call_.env.meta, call_.ctx, path, call_.env.mountPoint);
      if (!entry) {
        LOG_WARN("cache: {}: {}", path, entry.status().text());
        continue;
      }
      auto s = walkFiles(call_.env.meta, call_.ctx, entry->ino, entry->attr, [&](Ino ino, const meta::Attr& attr) -> Status {
        if (call_.ctx.isInterrupted()) return Code::interrupted;
        pool.submit([this, ino, length = attr.length] { file(ino, length); });
        return {};
      });
      if (!s) LOG_WARN("cache: {}: {}", path, s.text());
    }
    pool.drain();
  }

  std::string json() {
    std::lock_guard lock(mu_);
    meta::Json j;
    j["FileCount"] = files_.load();
    j["SliceCount"] = slices_.load();
    j["TotalBytes"] = bytes_.load();
    j["MissBytes"] = missing_.load();
    auto& locations = j["Locations"] = meta::Json::object();
    for (auto& [where, n] : locations_) locations[where] = n;
    return meta::jsonText(j, -1);
  }

 private:
  void file(Ino ino, uint64_t length) {
    for (uint64_t i = 0; i << meta::kChunkBits < length; i++) {
      if (call_.ctx.isInterrupted()) return;
      auto records = call_.env.meta.readChunk(ino, static_cast<uint32_t>(i));
      if (!records) {
        LOG_WARN("cache: chunk {} of inode {}: {}", i, ino, records.status().text());
        return;
      }
      // Whole slices, each once, as far as anything of them can be seen.
      std::set<std::pair<meta::SliceId, uint32_t>> seen;
      for (auto& s : meta::paint(*records))
        if (s.id != 0 && seen.emplace(s.id, s.size).second) slice(ino, s.id, s.size);
    }
    report_(++files_, bytes_);
  }

  void slice(Ino ino, meta::SliceId id, uint32_t size) {
    if (call_.ctx.isInterrupted()) return;
    Status s;
    if (action_ == Action::warm) s = call_.env.blocks.fill(id, size);
    else if (action_ == Action::evict) s = call_.env.blocks.evict(id, size);
    else {
      chunk::CacheStatus status;
      s = call_.env.blocks.check(id, size, &status);
      missing_ += status.missBytes;
      std::lock_guard lock(mu_);
      for (auto& [where, n] : status.locations) locations_[where] += n;
    }
    if (!s) {
      LOG_WARN("cache: slice {} of inode {}: {}", id, ino, s.text());
      if (action_ == Action::warm) missing_ += size;
    }
    slices_++;
    bytes_ += size;
    report_(files_, bytes_);
  }

  ControlCall& call_;
  const Action action_;
  meta::Progress report_;
  std::atomic<uint64_t> files_{0}, slices_{0}, bytes_{0}, missing_{0};
  std::mutex mu_;
  std::map<std::string, uint64_t> locations_;
};
}  // namespace

void controlCache(ControlCall& call) {
  std::string_view list = call.body.take(call.body.big<uint32_t>());
  auto threads = call.body.big<uint16_t>();
  bool background = call.body.big<uint8_t>();
  auto action = call.byteOr(0);
  if (!call.body.ok() || action > 2) return call.finishCode(Code::invalid);
  std::vector<std::string> paths;
  for (;;) {   // an empty path is the root of the mount
    auto end = std::min(list.find('\n'), list.size());
    paths.emplace_back(end > 0 ? list.substr(0, end) : "/");
    if (end == list.size()) break;
    list.remove_prefix(end + 1);
  }
  constexpr int kMaxThreads = 512;
  CacheJob job(call, static_cast<Action>(action));
  call.background = background;
  if (background) call.finishData(job.json());   // all zero: the tool does not wait
  job.run(paths, std::clamp<int>(threads, 1, kMaxThreads));
  if (!background) call.finishData(job.json());
}

}  // namespace aquifer::vfs
