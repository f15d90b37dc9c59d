#include "meta/store/registry.h"

#include <fmt/core.h>

#include "meta/store/mem/mem_store.h"
#include "meta/store/redis/redis_store.h"
#include "meta/store/sql/sqlite_store.h"

namespace aquifer::meta {

namespace {

struct Driver {
  std::string_view scheme;
  Result<std::unique_ptr<MetaStore>> (*open)(const std::string& rest, const StoreOptions& options);
};

constexpr Driver kDrivers[] = {
    {"sqlite3", openSqliteStore},
    {"redis", openRedisStore},
    {"rediss", openRedisTls},
    {"unix", openRedisSocket},
    {"mem", openMemStore},
};

constexpr std::string_view kSeparator = "://";

}  // namespace

Result<std::unique_ptr<MetaStore>> openStore(const std::string& url, const StoreOptions& options) {
  auto at = url.find(kSeparator);
  auto scheme = at == std::string::npos ? std::string("redis") : url.substr(0, at);
  auto rest = at == std::string::npos ? url : url.substr(at + kSeparator.size());
  for (auto& driver : kDrivers)
    if (driver.scheme == scheme) return driver.open(rest, options);
  return Status(Code::config, fmt::format("Invalid meta driver: {}", scheme));
}

std::string maskUrl(const std::string& url) {
  auto start = url.find(kSeparator);
  start = start == std::string::npos ? 0 : start + kSeparator.size();
  auto at = url.rfind('@');
  auto colon = url.find(':', start);
  if (at == std::string::npos || colon == std::string::npos || colon > at) return url;
  return url.substr(0, colon + 1) + "****" + url.substr(at);
}

}  // namespace aquifer::meta
