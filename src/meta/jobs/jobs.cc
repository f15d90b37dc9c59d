// When background work runs. One thread beats the heart, another one runs the leased jobs one after the other, so that a slow
// store sees one of them at a time. Times move by 5 % at random: clients that started together do not stay together.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "meta/jobs/cleanup.h"
#include "meta/jobs/heartbeat.h"
#include "meta/jobs/lease.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr int64_t kHourMs = 3'600'000, kChangeLogMs = 300'000;
constexpr int64_t kHourLease = 3240, kChangeLogLease = 270;  // seconds
constexpr int64_t kPassNanos = 50ll * 60 * 1'000'000'000;    // a pass leaves the rest to the next one
constexpr int64_t kDeletedAge = 3600;

int64_t jitter(int64_t ms) { return ms - ms / 20 + static_cast<int64_t>(randomBelow(static_cast<uint64_t>(ms / 10 + 1))); }

class JobsImpl final : public Jobs {
 public:
  explicit JobsImpl(MetaImpl& meta) : meta_(meta) {}
  ~JobsImpl() override { stop(); }

  void start() override {
    std::lock_guard lock(mu_);
    if (!threads_.empty() || stopping_) return;
    const auto& config = meta_.config();
    if (config.heartbeat.count() > 0) threads_.emplace_back([this] { beat(); });
    if (!config.readOnly && !config.noBgJob) threads_.emplace_back([this] { work(); });
  }

  void stop() override {
    std::vector<std::thread> threads;
    {
      std::lock_guard lock(mu_);
      stopping_ = true;
      threads.swap(threads_);
    }
    wake_.notify_all();
    for (auto& t : threads)
      if (t.joinable()) t.join();
  }

  Status run(std::string_view job, uint64_t* removed) override {
    uint64_t dropped = 0;
    auto& n = removed ? *removed : dropped;
    const GoOn always = [] { return true; };
    const int64_t now = unixSeconds();
    if (job == "sessions") return cleanStaleSessions(meta_, now, always, &n);
    if (job == "files") return cleanDeletedFiles(meta_, now, 0, always, &n);
    if (job == "slices") return cleanUnusedSlices(meta_, always, &n);
    if (job == "trash") {
      TRY(cleanTrash(meta_, now, always, &n));
      return cleanDelayedSlices(meta_, now, always, &n);
    }
    if (job == "changelog") return cleanChangeLog(meta_, now, always, &n);
    if (job == "detached") return cleanDetached(meta_, now, always, &n);
    return Status(Code::invalid, "no such job: " + std::string(job));
  }

 private:
  bool stopping() {
    std::lock_guard lock(mu_);
    return stopping_;
  }
  // False: time to stop.
  bool sleepFor(int64_t ms) {
    std::unique_lock lock(mu_);
    return !wake_.wait_for(lock, std::chrono::milliseconds(std::max<int64_t>(ms, 1)), [&] { return stopping_; });
  }

  void beat() {
    setThreadName("heartbeat");
    const int64_t every = meta_.config().heartbeat.count();
    const bool cleans = !meta_.config().readOnly && !meta_.config().noBgJob;
    while (sleepFor(jitter(every))) {
      heartbeat(meta_);
      if (cleans)
        leased(counter::kLastCleanupSessions, std::max<int64_t>(every * 9 / 10 / 1000, 1), "stale sessions", "cleanupStaleSessions",
               [&](const GoOn& goOn, uint64_t* n) { return cleanStaleSessions(meta_, unixSeconds(), goOn, n); });
    }
  }

  void work() {
    setThreadName("meta-jobs");
    int64_t hourly = monotonicNanos() / 1'000'000 + jitter(kHourMs);
    int64_t trimming = monotonicNanos() / 1'000'000 + jitter(kChangeLogMs);
    for (;;) {
      const int64_t now = monotonicNanos() / 1'000'000;
      if (!sleepFor(std::min(hourly, trimming) - now)) return;
      const int64_t woke = monotonicNanos() / 1'000'000;
      if (woke >= trimming) {
        trimming = woke + jitter(kChangeLogMs);
        if (meta_.formatNow()->changeLog)
          leased(counter::kLastCleanupChangelog, kChangeLogLease, "change log", "cleanupChangelog",
                 [&](const GoOn& goOn, uint64_t* n) { return cleanChangeLog(meta_, unixSeconds(), goOn, n); });
      }
      if (woke >= hourly) {
        hourly = woke + jitter(kHourMs);
        everyHour();
      }
    }
  }

  void everyHour() {
    leased(counter::kLastCleanupFiles, kHourLease, "deleted files", "cleanupDeletedFiles",
           [&](const GoOn& goOn, uint64_t* n) { return cleanDeletedFiles(meta_, unixSeconds(), kDeletedAge, goOn, n); });
    leased(counter::kNextCleanupSlices, kHourLease, "unused slices", "cleanupSlices",
           [&](const GoOn& goOn, uint64_t* n) { return cleanUnusedSlices(meta_, goOn, n); });
    leased(counter::kLastCleanupTrash, kHourLease, "trash", "cleanupTrash", [&](const GoOn& goOn, uint64_t* n) -> Status {
      TRY(cleanTrash(meta_, unixSeconds(), goOn, n));
      return cleanDelayedSlices(meta_, unixSeconds(), goOn, n);
    });
  }

  // One pass of a job if this client gets its lease. `what` is for people, `job` is the label of the metrics.
  void leased(std::string_view counter, int64_t interval, const char* what, const char* job,
              const std::function<Status(const GoOn&, uint64_t*)>& pass) {
    if (stopping()) return;
    auto won = takeLease(meta_, counter, unixSeconds(), interval);
    if (!won) LOG_WARN("{}: {}", what, won.status().text());
    if (!won || !*won) return;
    uint64_t removed = 0;
    const int64_t start = monotonicNanos(), end = start + kPassNanos;
    auto s = pass([&] { return !stopping() && monotonicNanos() < end; }, &removed);
    metrics::histogram("juicefs_bgjob_duration_seconds", "Duration of background jobs in seconds.", metrics::exponentialBuckets(1, 2, 13),
                       {{"job", job}, {"status", s ? "success" : "failed"}})
        .observe(static_cast<double>(monotonicNanos() - start) * 1e-9);
    metrics::counter("juicefs_bgjob_deletions_total", "What background jobs deleted.", {{"job", job}}).add(static_cast<double>(removed));
    if (!s) LOG_WARN("clean {}: {}", what, s.text());
    if (removed > 0) LOG_INFO("clean {}: {} removed", what, removed);
  }

  MetaImpl& meta_;
  std::mutex mu_;
  std::condition_variable wake_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<Jobs> makeJobs(MetaImpl& meta) { return std::make_unique<JobsImpl>(meta); }

}  // namespace aquifer::meta
