#include "meta/dump/load_batch.h"

#include <fmt/format.h>

#include <algorithm>

namespace aquifer::meta {

// An embedded store pays by the transaction, a remote one by its own limit.
LoadBatch::LoadBatch(MetaStore& store, const DumpProgress& progress)
    : store_(store), progress_(progress), limit_(store.traits().embedded ? 2000 : std::clamp<size_t>(store.traits().maxRecordsPerTxn, 10, 1000)) {}

Status LoadBatch::put(Key key, Value value) {
  puts_.emplace_back(std::move(key), std::move(value));
  return full();
}

Status LoadBatch::addRef(SliceId id, uint32_t size) {
  if (id == 0) return {};   // a hole
  if (!slices_.insert(id)) return put(key::sliceRef(id, size), int64_t{1});
  refs_.push_back(key::sliceRef(id, size));
  return full();
}

Status LoadBatch::pending(SliceId id, uint32_t size, int64_t count) {
  return id == 0 || slices_.contains(id) ? Status() : put(key::sliceRef(id, size), count);
}

Status LoadBatch::full() { return puts_.size() + refs_.size() >= limit_ ? flush() : Status(); }

Status LoadBatch::flush() {
  if (puts_.empty() && refs_.empty()) return {};
  TRY(withTxn(store_, {.operation = "load"}, [&](MetaTxn& tx) -> Status {
    for (auto& [key, value] : puts_) tx.put(key, value);
    for (auto& key : refs_) tx.add(key, 1);
    return {};
  }));
  records_ += puts_.size() + refs_.size();
  puts_.clear();
  refs_.clear();
  if (progress_ && !progress_(records_)) return Code::interrupted;
  return {};
}

Status beginLoad(MetaStore& store) {
  TRY_ASSIGN(bool nothing, store.isEmpty());
  TRY(store.prepareSchema(true));
  if (nothing) return {};
  std::string why;
  TRY(withRead(store, "load", [&](MetaTxn& tx) -> Status {
    why.clear();
    TRY_ASSIGN(auto text, tx.find<std::string>(key::setting()));
    if (text) {
      auto format = parseFormat(*text);
      why = fmt::format("is used by volume {}", format ? format->name : "(unreadable)");
    } else {
      TRY(tx.list({.kind = Kind::node, .limit = 1}, [&](const Key&, const Value&) {
        why = "holds part of a volume (a load that was broken off?); empty it first";
        return false;
      }));
    }
    return {};
  }));
  return why.empty() ? Status() : Status(Code::exists, why);
}

Result<LoadReport> finishLoad(MetaStore& store, LoadBatch& batch, const Format& format) {
  TRY(batch.flush());
  const std::string json = formatToJson(format);
  TRY(withTxn(
      store, {.operation = "load"},
      [&](MetaTxn& tx) -> Status {
        tx.put(key::setting(), json);
        return {};
      },
      {}, [&](MetaTxn& tx) -> Result<bool> {
        TRY_ASSIGN(auto text, tx.find<std::string>(key::setting()));
        return text && *text == json;
      }));
  LoadReport report;
  report.format = format;
  report.records = batch.records();
  for (const std::string* secret : {&format.secretKey, &format.sessionToken, &format.encryptKey})
    if (*secret == kRemovedSecret) report.secretRemoved = true;
  return report;
}

}  // namespace aquifer::meta
