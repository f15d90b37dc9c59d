#include "chunk/parallel.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/stages.h"

namespace aquifer::chunk {

namespace {

struct Loop {
  Loop(size_t count, const std::function<Status(size_t)>& body) : n(count), fn(body) {}
  const size_t n;
  const std::function<Status(size_t)>& fn;  // valid while an item is unfinished; helpers that come late touch only `next`
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mu;
  std::condition_variable idle;
  size_t running = 0;
  bool closed = false;
  Status first;
  StageNanos stages{};   // of all who work on it

  void work() {
    {
      std::lock_guard lock(mu);
      if (closed) return;
      ++running;
    }
    const StageNanos before = ScopedStage::sums();
    for (size_t i; !failed.load(std::memory_order_relaxed) && (i = next.fetch_add(1)) < n;) {
      if (auto s = fn(i); !s) {
        std::lock_guard lock(mu);
        if (!failed.exchange(true)) first = std::move(s);
      }
    }
    const StageNanos grown = ScopedStage::since(before);
    std::lock_guard lock(mu);
    for (size_t i = 0; i < kStages; ++i) stages[i] += grown[i];
    --running;
    idle.notify_all();
  }
};

}  // namespace

Status parallelFor(ThreadPool& pool, size_t n, size_t width, const std::function<Status(size_t)>& fn) {
  if (n == 0) return {};
  if (n == 1) return fn(0);
  auto loop = std::make_shared<Loop>(n, fn);
  for (size_t i = 1; i < std::min(n, width); ++i)
    if (!pool.trySubmit([loop] { loop->work(); })) break;
  loop->work();
  std::unique_lock lock(loop->mu);
  loop->closed = true;
  const int64_t start = monotonicNanos();
  loop->idle.wait(lock, [&] { return loop->running == 0; });
  ScopedStage::waited(monotonicNanos() - start, loop->stages);
  return loop->first;
}

}  // namespace aquifer::chunk
