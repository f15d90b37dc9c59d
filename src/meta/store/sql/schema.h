// The tables as JuiceFS 1.4 makes them, and what a given database has of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace aquifer::meta::sql {

struct Table {
  std::string_view name;  // without prefix
  std::string create;     // full statement
  std::vector<std::string> indexes;
  struct Added {
    std::string_view column;
    std::string definition;
  };
  std::vector<Added> columns;  // that older releases did not have: may be missing in an existing table
};

// The statements for table prefix `prefix` ("jfs_"), in the order in which a fresh volume gets them.
std::vector<Table> sqliteTables(const std::string& prefix);

// What is there: table -> columns, names without prefix.
struct Layout {
  std::map<std::string, std::set<std::string>, std::less<>> tables;
  bool hasTable(std::string_view table) const { return tables.count(table) > 0; }
  bool hasColumn(std::string_view table, const std::string& column) const {
    auto it = tables.find(table);
    return it != tables.end() && it->second.count(column) > 0;
  }
};

}  // namespace aquifer::meta::sql
