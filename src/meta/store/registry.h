// Opens a metadata store by URL: scheme -> driver. Drivers register themselves in registry.cc, one line each.
#pragma once

#include <memory>
#include <string>

#include "meta/store/txn.h"

namespace aquifer::meta {

struct StoreOptions {
  bool readOnly = false;
  bool create = false;        // may create an empty database (format, load)
  bool powerSafeCommits = false;
  int ioRetries = 10;
  uint64_t cacheBytes = 0;    // memory that an embedded engine may use for its pages; 0: as it likes
};

// `sqlite3://path?opts`, `mem://name` (process-wide by name, tests). No "://": redis:// is assumed, as the CLI spec says.
// Unknown scheme: Code::config "Invalid meta driver: foo".
Result<std::unique_ptr<MetaStore>> openStore(const std::string& url, const StoreOptions& options);
// The URL with everything between the first ':' after "://" and the last '@' replaced by ****.
std::string maskUrl(const std::string& url);

}  // namespace aquifer::meta
