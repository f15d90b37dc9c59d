#include "meta/store/sql/schema.h"

#include <fmt/core.h>

namespace aquifer::meta::sql {

namespace {

// Column definitions in the spelling of the Go client's schema library: a database that we make must compare equal to one that
// it makes, or it would alter ours.
class Builder {
 public:
  explicit Builder(const std::string& prefix) : prefix_(prefix) {}

  Builder& table(std::string_view name, std::string_view columns) {
    Table t;
    t.name = name;
    t.create = fmt::format("CREATE TABLE IF NOT EXISTS `{}{}` ({})", prefix_, name, columns);
    tables_.push_back(std::move(t));
    return *this;
  }
  Builder& unique(std::string_view group, std::string_view columns) { return index("UNIQUE INDEX", "UQE", group, columns); }
  Builder& plain(std::string_view column) { return index("INDEX", "IDX", column, fmt::format("`{}`", column)); }
  Builder& newer(std::string_view column, std::string definition) {
    tables_.back().columns.push_back({column, std::move(definition)});
    return *this;
  }
  std::vector<Table> take() { return std::move(tables_); }

 private:
  Builder& index(std::string_view what, std::string_view tag, std::string_view group, std::string_view columns) {
    auto table = fmt::format("{}{}", prefix_, tables_.back().name);
    tables_.back().indexes.push_back(
        fmt::format("CREATE {} IF NOT EXISTS `{}_{}_{}` ON `{}` ({})", what, tag, table, group, table, columns));
    return *this;
  }
  std::string prefix_;
  std::vector<Table> tables_;
};

constexpr const char* kAutoId = "`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL";
constexpr const char* kInodeKey = "`inode` INTEGER PRIMARY KEY NOT NULL";
constexpr const char* kQuotaColumns =
    "`max_space` INTEGER NOT NULL, `max_inodes` INTEGER NOT NULL, `used_space` INTEGER NOT NULL, "
    "`used_inodes` INTEGER NOT NULL";
constexpr const char* kNodeColumns =
    "`inode` INTEGER PRIMARY KEY NOT NULL, `type` INTEGER NOT NULL, `flags` INTEGER NOT NULL, `mode` INTEGER NOT NULL, "
    "`uid` INTEGER NOT NULL, `gid` INTEGER NOT NULL, `atime` INTEGER NOT NULL, `mtime` INTEGER NOT NULL, `ctime` INTEGER NOT "
    "NULL, "
    "`atimensec` INTEGER DEFAULT 0 NOT NULL, `mtimensec` INTEGER DEFAULT 0 NOT NULL, `ctimensec` INTEGER DEFAULT 0 NOT NULL, "
    "`nlink` INTEGER NOT NULL, `length` INTEGER NOT NULL, `rdev` INTEGER NULL, `parent` INTEGER NULL, "
    "`access_acl_id` INTEGER NULL, `default_acl_id` INTEGER NULL, `tier_id` INTEGER NULL";

}  // namespace

std::vector<Table> sqliteTables(const std::string& prefix) {
  auto withId = [](std::string_view columns) { return fmt::format("{}, {}", kAutoId, columns); };
  auto withInode = [](std::string_view columns) { return fmt::format("{}, {}", kInodeKey, columns); };
  Builder b(prefix);
  b.table("setting", "`name` TEXT PRIMARY KEY NOT NULL, `value` TEXT NOT NULL");
  b.table("counter", "`name` TEXT PRIMARY KEY NOT NULL, `value` INTEGER NOT NULL");
  b.table("edge", withId("`parent` INTEGER NOT NULL, `name` BLOB NOT NULL, `inode` INTEGER NOT NULL, `type` INTEGER NOT NULL"))
      .unique("edge", "`parent`,`name`")
      .plain("inode");
  b.table("node", kNodeColumns);
  for (auto* c : {"atimensec", "mtimensec", "ctimensec"}) b.newer(c, "INTEGER DEFAULT 0 NOT NULL");
  for (auto* c : {"access_acl_id", "default_acl_id", "tier_id"}) b.newer(c, "INTEGER NULL");
  b.table("symlink", withInode("`target` BLOB NOT NULL"));
  b.table("xattr", withId("`inode` INTEGER NOT NULL, `name` TEXT NOT NULL, `value` BLOB NOT NULL"))
      .unique("name", "`inode`,`name`");
  b.table("chunk", withId("`inode` INTEGER NOT NULL, `indx` INTEGER NOT NULL, `slices` BLOB NOT NULL"))
      .unique("chunk", "`inode`,`indx`");
  b.table("chunk_ref", "`chunkid` INTEGER PRIMARY KEY NOT NULL, `size` INTEGER NOT NULL, `refs` INTEGER NOT NULL").plain("refs");
  b.table("delslices", "`chunkid` INTEGER PRIMARY KEY NOT NULL, `deleted` INTEGER NOT NULL, `slices` BLOB NOT NULL");
  b.table("session2", "`sid` INTEGER PRIMARY KEY NOT NULL, `expire` INTEGER NOT NULL, `info` BLOB NULL");
  b.table("sustained", withId("`sid` INTEGER NOT NULL, `inode` INTEGER NOT NULL")).unique("sustained", "`sid`,`inode`");
  b.table("delfile", withInode("`length` INTEGER NOT NULL, `expire` INTEGER NOT NULL"));
  b.table("flock", withId("`inode` INTEGER NOT NULL, `sid` INTEGER NOT NULL, `owner` INTEGER NOT NULL, `ltype` INTEGER NOT NULL"))
      .unique("flock", "`inode`,`sid`,`owner`");
  b.table("plock", withId("`inode` INTEGER NOT NULL, `sid` INTEGER NOT NULL, `owner` INTEGER NOT NULL, `records` BLOB NOT NULL"))
      .unique("plock", "`inode`,`sid`,`owner`");
  b.table("dir_quota", withInode(kQuotaColumns));
  b.table("user_group_quota",
          fmt::format("`qtype` INTEGER NOT NULL, `qkey` INTEGER NOT NULL, {}, PRIMARY KEY ( `qtype`,`qkey` )", kQuotaColumns));
  b.table("dir_stats",
          withInode("`data_length` INTEGER NOT NULL, `used_space` INTEGER NOT NULL, `used_inodes` INTEGER NOT NULL"));
  b.table("detached_node", withInode("`added` INTEGER NOT NULL"));
  b.table("acl", withId("`owner` INTEGER NULL, `group` INTEGER NULL, `mask` INTEGER NULL, `other` INTEGER NULL, "
                        "`named_users` BLOB NULL, `named_groups` BLOB NULL"));
  b.table("delegation_token", withId("`token` BLOB NULL"));
  b.table("change_log", withId("`entry` TEXT NOT NULL"));
  return b.take();
}

}  // namespace aquifer::meta::sql
