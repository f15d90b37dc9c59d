#include "meta/store/sql/sqlite_url.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace aquifer::meta::sql {

namespace {

bool isIdentifier(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Status setOption(SqliteAddress& address, const std::string& name, const std::string& value) {
  if (name == "_timeout" || name == "_busy_timeout") {
    int ms = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
    if (error != std::errc() || end != value.data() + value.size() || ms < 0)
      return Status(Code::config, fmt::format("{}={} is not a number of milliseconds", name, value));
    address.timeoutMs = ms;
  } else if (name == "_journal" || name == "_journal_mode") {
    address.journal = value;
    for (auto& c : address.journal) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    static constexpr const char* kModes[] = {"WAL", "DELETE", "TRUNCATE", "PERSIST"};
    if (std::find(std::begin(kModes), std::end(kModes), address.journal) == std::end(kModes))
      return Status(Code::config, fmt::format("journal mode {} would lose data or is unknown", value));
  } else if (name == "table_prefix") {
    // Becomes part of statements, so nothing but a plain identifier may pass.
    if (!isIdentifier(value)) return Status(Code::config, fmt::format("table_prefix={} is not an identifier", value));
    address.tablePrefix = fmt::format("jfs_{}_", value);
  }
  return {};
}

}  // namespace

Result<SqliteAddress> parseSqliteAddress(const std::string& rest) {
  SqliteAddress address;
  auto mark = rest.find('?');
  address.path = rest.substr(0, mark);
  if (address.path.empty()) return Status(Code::config, "sqlite3:// needs the path of a file");
  std::string options = mark == std::string::npos ? "" : rest.substr(mark + 1);
  while (!options.empty()) {
    auto end = options.find('&');
    auto pair = options.substr(0, end);
    options = end == std::string::npos ? "" : options.substr(end + 1);
    auto equals = pair.find('=');
    if (equals == std::string::npos) continue;
    TRY(setOption(address, pair.substr(0, equals), pair.substr(equals + 1)));
  }
  return address;
}

}  // namespace aquifer::meta::sql
