// Metadata in a SQLite file, shared live with other processes. WAL; one writer connection whose commits carry several
// transactions; reads on a pool of connections. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "meta/store/registry.h"
#include "meta/store/txn.h"

namespace aquifer::meta {

// `rest`: the address without "sqlite3://".
Result<std::unique_ptr<MetaStore>> openSqliteStore(const std::string& rest, const StoreOptions& options);

}  // namespace aquifer::meta
