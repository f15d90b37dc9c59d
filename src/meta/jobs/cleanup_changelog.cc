#include <charconv>

#include "meta/jobs/cleanup.h"
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr size_t kAtOnce = 1000;

// Entries begin with the seconds at which they were written.
int64_t secondsOf(const std::string& entry) {
  int64_t seconds = 0;
  std::from_chars(entry.data(), entry.data() + entry.size(), seconds);
  return seconds;
}

Status countEntries(MetaImpl& meta, uint64_t* count) {
  std::optional<Key> after;
  *count = 0;
  for (size_t n = kAtOnce; n == kAtOnce;) {
    TRY(meta.read("changelog", [&](MetaTxn& tx) {
      n = 0;
      std::optional<Key> last;
      auto s = tx.list({.kind = Kind::changeLog, .after = after, .limit = kAtOnce}, [&](const Key& key, const Value&) {
        ++n;
        last = key;
        return true;
      });
      if (last) after = last;
      return s;
    }));
    *count += n;
  }
  return {};
}

}  // namespace

Status cleanChangeLog(MetaImpl& meta, int64_t now, const GoOn& goOn, uint64_t* removed) {
  const auto format = meta.formatNow();
  const int64_t oldest = format->changeLogMaxAge > 0 ? now - format->changeLogMaxAge : INT64_MIN;
  uint64_t tooMany = 0;
  if (format->changeLogMaxLines > 0) {
    uint64_t count = 0;
    TRY(countEntries(meta, &count));
    const auto most = static_cast<uint64_t>(format->changeLogMaxLines);
    tooMany = count > most ? count - most : 0;
  }
  while (goOn()) {
    uint64_t erased = 0;
    TRY(meta.txn(
        "changelog",
        [&](MetaTxn& tx) -> Status {
          erased = 0;
          std::vector<Key> old;
          TRY(tx.list({.kind = Kind::changeLog, .limit = kAtOnce}, [&](const Key& key, const Value& value) {
            const auto* entry = std::get_if<std::string>(&value);
            if (entry && old.size() >= tooMany && secondsOf(*entry) >= oldest) return false;
            old.push_back(key);
            return true;
          }));
          for (const auto& key : old) tx.erase(key);
          erased = old.size();
          return {};
        },
        [](MetaTxn&) -> Result<bool> { return false; }));
    *removed += erased;
    tooMany -= std::min(tooMany, erased);
    if (erased < kAtOnce) break;
  }
  return {};
}

}  // namespace aquifer::meta
