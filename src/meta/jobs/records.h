// Pages over the records of one kind, oldest key first, that go on where the last page ended even when its records were removed.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "meta/ops/meta_impl.h"

namespace aquifer::meta {

inline constexpr size_t kJobPage = 1000;

// visit(key, value) outside of any transaction; false ends the walk.
inline Status eachJobRecord(MetaImpl& meta, Kind kind, const std::function<bool(const Key&, const Value&)>& visit) {
  std::optional<Key> after;
  for (;;) {
    std::vector<std::pair<Key, Value>> page;
    TRY(meta.read("job", [&](MetaTxn& tx) {
      page.clear();
      return tx.list({.kind = kind, .after = after, .limit = kJobPage}, [&](const Key& key, const Value& value) {
        page.emplace_back(key, value);
        return true;
      });
    }));
    for (const auto& [key, value] : page)
      if (!visit(key, value)) return {};
    if (page.size() < kJobPage) return {};
    after = page.back().first;
  }
}

}  // namespace aquifer::meta
