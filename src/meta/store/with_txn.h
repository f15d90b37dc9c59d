// The one retry loop of the metadata. Thread-safe.
#pragma once

#include "meta/store/txn.h"

namespace aquifer::meta {

struct RetryPolicy {
  int maxAttempts = 50;   // conflicts: the first 3 at once, then random sleeps below attempt^2 ms (capped at 100 ms)
  int64_t deadlineMs = 60'000;  // unavailable: back off until then, then Code::io
};

// Runs `body` until it commits or fails for good. `confirm` (optional) decides after maybeCommitted: it re-reads a record that
// only this commit could have written and returns true if it is there; without it maybeCommitted ends as Code::io.
Status withTxn(MetaStore& store, const TxnOptions& options, const TxnBody& body, const RetryPolicy& policy = {},
               const std::function<Result<bool>(MetaTxn&)>& confirm = {});

// A read-only view.
Status withRead(MetaStore& store, std::string_view operation, const TxnBody& body, const RetryPolicy& policy = {});

}  // namespace aquifer::meta
