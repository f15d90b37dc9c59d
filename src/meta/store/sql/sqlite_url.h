// `sqlite3://path?options` as the Go client's driver takes it. The path is taken as it is, without %XX.
#pragma once

#include <string>

#include "base/status.h"

namespace aquifer::meta::sql {

struct SqliteAddress {
  std::string path;
  std::string tablePrefix = "jfs_";  // or jfs_<table_prefix>_
  std::string journal = "WAL";
  int timeoutMs = 5000;
};

// `rest`: what follows "sqlite3://". Options that are not ours (cache=shared, pool sizes) are accepted and have no meaning here.
Result<SqliteAddress> parseSqliteAddress(const std::string& rest);

}  // namespace aquifer::meta::sql
