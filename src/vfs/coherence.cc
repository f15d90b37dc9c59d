#include "vfs/coherence.h"

#include <algorithm>

#include "base/log.h"
#include "base/metrics.h"
#include "base/thread_pool.h"

namespace aquifer::vfs {

namespace {

constexpr int64_t kMillis = 1'000'000, kSecond = 1'000 * kMillis;
// The kernel begins to count when it has the reply.
constexpr int64_t kSlack = 5 * kSecond;
// A reply that left just before a change may reach the kernel's tables after the notification.
// So what was granted a short while ago is taken back again after that, and once more after a second.
constexpr int64_t kYoung = kSecond, kAgainAfter = 150 * kMillis;
constexpr size_t kBatch = 32;
// What taking back may cost: so many notifications a second, saved up to kMaxBudget. Beyond that trust is not worth its price, and for
// a while nothing is granted.
constexpr double kBudgetPerSecond = 20'000, kMaxBudget = 4.0 * Coherence::kMaxGrants;
constexpr int64_t kRest = 2 * kSecond;
constexpr auto kEndPatience = std::chrono::seconds(1);

struct CoherenceMetrics {
  metrics::Counter& live = metrics::gauge("coherent_cache_live", "1 while names and attributes stay with the kernel until they change.");
  metrics::Counter& grants = metrics::gauge("coherent_cache_grants", "names and attributes that the kernel keeps until they change");
  metrics::Counter& revoked = metrics::counter("coherent_cache_revoked", "names and attributes that were taken back");
  metrics::Counter& events = metrics::counter("coherent_cache_events", "changes that the metadata engine has told of");
  metrics::Counter& losses = metrics::counter("coherent_cache_losses", "how often the metadata engine has stopped to tell of changes");
  metrics::Counter& rests = metrics::counter("coherent_cache_rests", "how often there were too many changes to keep up");
};
CoherenceMetrics& meters() {
  static auto* m = new CoherenceMetrics;   // never destroyed: threads may still count while the process ends
  return *m;
}

int64_t nanosOf(Seconds s) { return static_cast<int64_t>(s.count() * 1e9); }

}  // namespace

Coherence::~Coherence() {
  feed_.reset();
  {
    std::lock_guard lock(mu_);
    stopping_ = true;
    work_.notify_all();
  }
  for (auto& t : threads_) t.join();
}

void Coherence::watch(meta::MetaStore& store, Ino root) {
  root_ = root;
  meters().live.set(0);
  auto feed = store.watch(*this);
  if (!feed) {
    if (!feed.is(Code::unsupported)) LOG_WARN("the kernel keeps names and attributes for their time-outs only: {}", feed.status().text());
    return;
  }
  feed_ = std::move(*feed);
  watching_ = true;
}

void Coherence::setNotifier(Notifier* notifier) {
  std::unique_lock lock(mu_);
  notifier_ = notifier && notifier->canExpire() ? notifier : nullptr;
  if (!notifier_) {
    queue_.clear();
    soon_.clear();
    late_.clear();
  }
  idle_.wait(lock, [&] { return busy_ == 0; });
}

void Coherence::end() {
  std::unique_lock lock(mu_);
  ended_ = true;
  takeAllLocked();
  idle_.wait_for(lock, kEndPatience, [&] { return pendingLocked() == 0 && busy_ == 0; });
}

Seconds Coherence::keepName(Ino parent, std::string_view name, int64_t askedAt, Seconds ordinary, Seconds coherent) {
  if (!watching_.load(std::memory_order_relaxed) || coherent.count() <= 0) return ordinary;
  std::lock_guard lock(mu_);
  if (live_ && (allAt_ >= askedAt || names_.changedSince(parent, askedAt))) return Seconds(0);
  const int64_t now = monotonicNanos();
  if (!grantingLocked(now) || !grants_.hasRoom(1, pendingLocked(), now)) return ordinary;
  grants_.addName(parent, name, now, now + nanosOf(coherent) + kSlack);
  meters().grants.set(static_cast<double>(grants_.size()));
  return coherent;
}

Seconds Coherence::keepAttr(Ino ino, int64_t askedAt, Seconds ordinary, Seconds coherent) {
  if (!watching_.load(std::memory_order_relaxed) || coherent.count() <= 0) return ordinary;
  std::lock_guard lock(mu_);
  if (live_ && (allAt_ >= askedAt || nodes_.changedSince(ino, askedAt))) return Seconds(0);
  const int64_t now = monotonicNanos();
  if (!grantingLocked(now) || !grants_.hasRoom(1, pendingLocked(), now)) return ordinary;
  grants_.addAttr(ino, now, now + nanosOf(coherent) + kSlack);
  return coherent;
}

bool Coherence::changedSince(Ino parent, Ino ino, int64_t askedAt) {
  if (!watching_.load(std::memory_order_relaxed)) return false;
  std::lock_guard lock(mu_);
  return live_ && (allAt_ >= askedAt || names_.changedSince(parent, askedAt) || nodes_.changedSince(ino, askedAt));
}

void Coherence::renamed(Ino parent, std::string_view name, Ino newParent, std::string_view newName, bool exchange) {
  if (!watching_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mu_);
  grants_.moveName(parent, name, newParent, newName, exchange, monotonicNanos());
}

// What was granted just now may still be on its way, and would then last under the removed name.
void Coherence::removed(Ino parent, std::string_view name) {
  if (!watching_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mu_);
  grants_.dropName(parent, name, monotonicNanos() - kYoung);
}

void Coherence::changedHere(Ino ino) {
  if (!watching_.load(std::memory_order_relaxed)) return;
  const auto key = meta::key::node(ino);
  changed({&key, 1});
}

void Coherence::changed(std::span<const meta::Key> keys) {
  std::lock_guard lock(mu_);
  meters().events.add();
  std::vector<Revoked> out;
  const int64_t now = monotonicNanos();
  for (auto& key : keys) {
    const Ino ino = shown(key.id);
    if (key.kind == meta::Kind::node) {
      nodes_.changed(ino);
      grants_.takeAttr(ino, now, out);
    } else if (key.kind == meta::Kind::dentry) {
      names_.changed(ino);
      if (key.name.empty())
        grants_.takeNames(ino, now, out);
      else
        grants_.takeName(ino, key.name, now, out);
    }
  }
  takeBackLocked(std::move(out));
}

void Coherence::allChanged() {
  std::lock_guard lock(mu_);
  meters().events.add();
  takeAllLocked();
}

void Coherence::live() {
  std::lock_guard lock(mu_);
  // What was asked before this moment may be older than what will be told.
  allAt_ = monotonicNanos();
  live_ = true;
  meters().live.set(1);
  LOG_INFO("the kernel keeps names and attributes until they change");
}

void Coherence::lost(std::string_view why) {
  std::lock_guard lock(mu_);
  takeAllLocked();
  if (!live_) return;
  live_ = false;
  meters().live.set(0);
  meters().losses.add();
  LOG_WARN("the kernel keeps names and attributes for their time-outs only: {}", why);
}

void Coherence::takeAllLocked() {
  allAt_ = monotonicNanos();
  std::vector<Revoked> out;
  grants_.takeAll(allAt_, out);
  takeBackLocked(std::move(out));
}

void Coherence::payLocked(int64_t now, size_t notifications) {
  budget_ = paidAt_ == 0 ? kMaxBudget : std::min(kMaxBudget, budget_ + static_cast<double>(now - paidAt_) * 1e-9 * kBudgetPerSecond);
  paidAt_ = now;
  budget_ -= static_cast<double>(notifications);
  if (budget_ >= 0 || now < restUntil_) return;
  restUntil_ = now + kRest;
  meters().rests.add();
}

void Coherence::takeBackLocked(std::vector<Revoked>&& what) {
  if (what.empty()) return;
  meters().revoked.add(static_cast<double>(what.size()));
  meters().grants.set(static_cast<double>(grants_.size()));
  payLocked(monotonicNanos(), what.size());
  if (!notifier_ || stopping_) return;
  queue_.insert(queue_.end(), std::make_move_iterator(what.begin()), std::make_move_iterator(what.end()));
  for (; threads_.size() < kThreads; threads_.emplace_back([this] { loop(); })) {
  }
  what.size() > kBatch ? work_.notify_all() : work_.notify_one();
}

void Coherence::sendSome(std::unique_lock<std::mutex>& lock) {
  std::vector<Revoked> batch;
  const int64_t now = monotonicNanos();
  for (auto* again : {&soon_, &late_})
    while (batch.size() < kBatch && !again->empty() && again->front().due <= now) {
      batch.push_back(std::move(again->front().what));
      again->pop_front();
    }
  while (batch.size() < kBatch && !queue_.empty()) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  auto* notifier = notifier_;
  ++busy_;
  lock.unlock();
  for (auto& r : batch) {
    if (!notifier) break;
    if (r.name.empty())
      notifier->expireAttributes(r.ino);
    else
      notifier->expireEntry(r.ino, r.name);
  }
  lock.lock();
  --busy_;
  for (auto& r : batch) {
    const int64_t age = now - r.grantedAt;
    if (!notifier_ || age >= kYoung) continue;
    if (age < kAgainAfter)
      soon_.push_back({now + kAgainAfter, std::move(r)});
    else
      late_.push_back({now + kYoung - kAgainAfter, std::move(r)});
  }
  idle_.notify_all();
}

void Coherence::loop() {
  setThreadName("revoke");
  std::unique_lock lock(mu_);
  while (!stopping_) {
    const int64_t now = monotonicNanos();
    int64_t due = queue_.empty() ? INT64_MAX : now;
    for (auto* again : {&soon_, &late_})
      if (!again->empty()) due = std::min(due, again->front().due);
    if (due <= now)
      sendSome(lock);
    else if (due == INT64_MAX)
      work_.wait(lock);
    else
      work_.wait_for(lock, std::chrono::nanoseconds(due - now));
  }
}

}  // namespace aquifer::vfs
