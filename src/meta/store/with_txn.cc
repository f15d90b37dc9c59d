#include "meta/store/with_txn.h"

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"

namespace aquifer::meta {

namespace {

constexpr int kImmediateRetries = 3;
constexpr int64_t kMaxSleepMs = 100;
constexpr int64_t kMaxUnavailableSleepMs = 2000;
constexpr int kRefusalsToTell = 10;

void sleepBelow(int64_t ms) { sleepMs(1 + static_cast<int64_t>(randomBelow(static_cast<uint64_t>(std::max<int64_t>(ms, 1))))); }

metrics::Histogram& durations() {
  static auto& h = metrics::histogram("transaction_durations_histogram_seconds", "Transactions latency distributions.",
                                      metrics::exponentialBuckets(0.0001, 1.5, 30));
  return h;
}

// Only in the case of trouble, so the lookup of the label does not matter.
void countRestart(std::string_view operation) {
  metrics::counter("transaction_restart", "The number of times a transaction is restarted.", {{"method", std::string(operation)}})
      .add();
}

class Retries {
 public:
  Retries(const RetryPolicy& policy, std::string_view operation)
      : policy_(policy), operation_(operation), start_(monotonicNanos()) {}

  // Sleeps and returns ok if `why` may be tried again, the final error otherwise.
  Status again(Status why) {
    if (++attempts_ >= policy_.maxAttempts && !why.is(Code::unavailable)) return giveUp(why);
    countRestart(operation_);
    if (why.is(Code::unavailable)) {
      if ((monotonicNanos() - start_) / 1'000'000 >= policy_.deadlineMs) return giveUp(why);
      // Short ones are everyday; by now it has waited for about a second.
      if (++refusals_ == kRefusalsToTell) LOG_WARN("{}: {}; trying again", operation_, why.text());
      sleepBelow(std::min<int64_t>(kMaxUnavailableSleepMs, int64_t{1} << std::min(refusals_ + 1, 11)));
    } else if (attempts_ > kImmediateRetries) {
      sleepBelow(std::min<int64_t>(kMaxSleepMs, int64_t{attempts_} * attempts_));
    }
    return {};
  }

 private:
  Status giveUp(const Status& why) {
    auto text = fmt::format("{}: gave up after {} attempts: {}", operation_, attempts_, why.text());
    LOG_ERROR("{}", text);
    return Status(Code::io, text);
  }
  const RetryPolicy& policy_;
  std::string_view operation_;
  int64_t start_;
  int attempts_ = 0, refusals_ = 0;
};

// Did the commit whose answer was lost happen? Any error here leaves the question open.
Result<bool> wasCommitted(MetaStore& store, std::string_view operation, const std::function<Result<bool>(MetaTxn&)>& confirm,
                          const RetryPolicy& policy) {
  bool found = false;
  TRY(withRead(
      store, operation,
      [&](MetaTxn& txn) -> Status {
        TRY_ASSIGN(found, confirm(txn));
        return {};
      },
      policy));
  return found;
}

}  // namespace

Status withTxn(MetaStore& store, const TxnOptions& options, const TxnBody& body, const RetryPolicy& policy,
               const std::function<Result<bool>(MetaTxn&)>& confirm) {
  auto started = monotonicNanos();
  Retries retries(policy, options.operation);
  for (;;) {
    auto status = store.run(body, options);
    switch (status.code()) {
      case Code::conflict:
      case Code::unavailable: break;
      case Code::maybeCommitted: {
        auto unknown = fmt::format("{}: the outcome of the commit is unknown", options.operation);
        if (!confirm) return Status(Code::io, unknown);
        auto committed = wasCommitted(store, options.operation, confirm, policy);
        if (!committed) return Status(Code::io, fmt::format("{}: {}", unknown, committed.status().text()));
        if (*committed) return {};
        break;
      }
      default: durations().observe(static_cast<double>(monotonicNanos() - started) * 1e-9); return status;
    }
    TRY(retries.again(std::move(status)));
  }
}

Status withRead(MetaStore& store, std::string_view operation, const TxnBody& body, const RetryPolicy& policy) {
  TxnOptions options;
  options.operation = operation;
  options.readOnly = true;
  return withTxn(store, options, body, policy);
}

}  // namespace aquifer::meta
