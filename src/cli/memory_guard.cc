#include "cli/memory_guard.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/page_ledger.h"
#include "base/text_file.h"
#include "base/thread_pool.h"

namespace aquifer::cli {

namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kLooksPerCheck = 10;                   // of who else is in the group
constexpr int64_t kReclaimNanos = 1'000'000'000;     // the kernel is asked at most that often: it costs it time

// Memory of a process that no file stands behind.
uint64_t ownBytes(pid_t pid) {
  const std::string status = fileText("/proc/" + std::to_string(pid) + "/status");
  uint64_t kib = 0;
  for (const std::string_view name : {"\nRssAnon:", "\nRssShmem:"})
    if (const size_t at = status.find(name); at != std::string::npos) kib += std::strtoull(status.c_str() + at + name.size(), nullptr, 10);
  return kib * 1024;
}

}  // namespace

MemoryGuard::MemoryGuard(uint64_t bound, std::function<void()> squeeze)
    : bound_(bound), squeeze_(std::move(squeeze)), group_(ControlGroup::ofThisProcess()), supervisor_(getppid()) {
  metrics::gauge("memory_max_bytes", "what --memory-max promises").set(static_cast<double>(bound_));
  metrics::gaugeCallback("memory_charged_bytes", "memory that counts against --memory-max: heap, buffers, page cache, the kernel's own",
                         [this] { return static_cast<double>(charged()); });
  metrics::gaugeCallback("memory_charged_peak_bytes", "the most that was seen of it", [this] { return static_cast<double>(peak()); });
  thread_ = std::thread([this] { loop(); });
}

MemoryGuard::~MemoryGuard() {
  {
    std::lock_guard lock(mu_);
    stop_ = true;
  }
  tick_.notify_all();
  thread_.join();
}

// A supervisor that has died is no part of it, and what is then our parent even less.
pid_t MemoryGuard::head() const { return getppid() == supervisor_ ? supervisor_ : getpid(); }

uint64_t MemoryGuard::look() {
  if (ours_) return group_->usage();
  const auto* ledger = PageLedger::installed();
  return ownBytes(getpid()) + (head() == supervisor_ ? ownBytes(supervisor_) : 0) + (ledger ? ledger->held() : 0);
}

void MemoryGuard::relieve(uint64_t charged) {
  if (charged < bound_ / 100 * 85) return;
  dropPagesOfOpenFiles();
  const int64_t now = monotonicNanos();
  const bool near = charged >= bound_ / 100 * 93;
  if (near) {
    if (squeeze_) squeeze_();
    malloc_trim(0);
  }
  if (!ours_ || now - reclaimedNanos_ < (near ? kReclaimNanos / 5 : kReclaimNanos)) return;
  reclaimedNanos_ = now;
  if (group_->reclaim(charged - bound_ / 100 * 75) || saidRefused_) return;
  saidRefused_ = true;
  LOG_INFO("the kernel's own memory of this mount cannot be given back: {} does not let us", group_->folder());
}

void MemoryGuard::loop() {
  setThreadName("memory-guard");
  std::unique_lock lock(mu_);
  for (uint64_t n = 0; !stop_; ++n) {
    lock.unlock();
    if (n % kLooksPerCheck == 0) ours_ = group_ && group_->holdsOnly(head());
    const uint64_t charged = look();
    charged_.store(charged, std::memory_order_relaxed);
    if (charged > peak()) peak_.store(charged, std::memory_order_relaxed);
    relieve(charged);
    lock.lock();
    if (!stop_) tick_.wait_for(lock, kInterval);
  }
}

}  // namespace aquifer::cli
