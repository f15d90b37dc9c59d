// What is particular to SQLite: the tables of JuiceFS, damaged files, old volumes, several connections.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "meta/store/registry.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {
namespace {

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/aquifer-sqlite-XXXXXX";
    dir_ = ::mkdtemp(pattern);
    path_ = dir_ + "/meta.db";
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<MetaStore> open(StoreOptions options = {.create = true}) {
    auto store = openStore("sqlite3://" + path_, options);
    EXPECT_TRUE(store.isOk()) << store.status().text();
    return store ? std::move(*store) : nullptr;
  }
  std::unique_ptr<MetaStore> formatted() {
    auto store = open();
    EXPECT_TRUE(store->prepareSchema(true).isOk());
    return store;
  }
  // Runs text on a connection of its own, as another program would.
  void exec(const std::string& text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(SQLITE_OK, sqlite3_open(path_.c_str(), &db));
    char* error = nullptr;
    EXPECT_EQ(SQLITE_OK, sqlite3_exec(db, text.c_str(), nullptr, nullptr, &error)) << (error ? error : "");
    sqlite3_close(db);
  }
  std::vector<std::string> query(const std::string& text) {
    std::vector<std::string> out;
    sqlite3* db = nullptr;
    EXPECT_EQ(SQLITE_OK, sqlite3_open(path_.c_str(), &db));
    auto row = [](void* rows, int n, char** v, char**) {
      std::string line;
      for (int i = 0; i < n; ++i) line += (i ? "|" : "") + std::string(v[i] ? v[i] : "NULL");
      static_cast<std::vector<std::string>*>(rows)->push_back(line);
      return 0;
    };
    char* error = nullptr;
    EXPECT_EQ(SQLITE_OK, sqlite3_exec(db, text.c_str(), row, &out, &error)) << (error ? error : "");
    sqlite3_close(db);
    return out;
  }
  static Status write(MetaStore& store, const TxnBody& body) { return withTxn(store, {.operation = "test"}, body); }
  static Status read(MetaStore& store, const TxnBody& body) { return withRead(store, "test", body); }

  std::string dir_, path_;
};

// A volume that JuiceFS 1.4.2 formatted and mounted, word for word.
constexpr const char* kSchema[] = {
    "CREATE TABLE `jfs_setting` (`name` TEXT PRIMARY KEY NOT NULL, `value` TEXT NOT NULL)",
    "CREATE TABLE `jfs_counter` (`name` TEXT PRIMARY KEY NOT NULL, `value` INTEGER NOT NULL)",
    "CREATE TABLE `jfs_edge` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `parent` INTEGER NOT NULL, `name` "
    "BLOB NOT NULL, `inode` INTEGER NOT NULL, `type` INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX `UQE_jfs_edge_edge` ON `jfs_edge` (`parent`,`name`)",
    "CREATE INDEX `IDX_jfs_edge_inode` ON `jfs_edge` (`inode`)",
    "CREATE TABLE `jfs_node` (`inode` INTEGER PRIMARY KEY NOT NULL, `type` INTEGER NOT NULL, `flags` INTEGER NOT "
    "NULL, `mode` INTEGER NOT NULL, `uid` INTEGER NOT NULL, `gid` INTEGER NOT NULL, `atime` INTEGER NOT NULL, "
    "`mtime` INTEGER NOT NULL, `ctime` INTEGER NOT NULL, `atimensec` INTEGER DEFAULT 0 NOT NULL, `mtimensec` INTEGER "
    "DEFAULT 0 NOT NULL, `ctimensec` INTEGER DEFAULT 0 NOT NULL, `nlink` INTEGER NOT NULL, `length` INTEGER NOT "
    "NULL, `rdev` INTEGER NULL, `parent` INTEGER NULL, `access_acl_id` INTEGER NULL, `default_acl_id` INTEGER NULL, "
    "`tier_id` INTEGER NULL)",
    "CREATE TABLE `jfs_symlink` (`inode` INTEGER PRIMARY KEY NOT NULL, `target` BLOB NOT NULL)",
    "CREATE TABLE `jfs_xattr` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `inode` INTEGER NOT NULL, `name` "
    "TEXT NOT NULL, `value` BLOB NOT NULL)",
    "CREATE UNIQUE INDEX `UQE_jfs_xattr_name` ON `jfs_xattr` (`inode`,`name`)",
    "CREATE TABLE `jfs_chunk` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `inode` INTEGER NOT NULL, `indx` "
    "INTEGER NOT NULL, `slices` BLOB NOT NULL)",
    "CREATE UNIQUE INDEX `UQE_jfs_chunk_chunk` ON `jfs_chunk` (`inode`,`indx`)",
    "CREATE TABLE `jfs_chunk_ref` (`chunkid` INTEGER PRIMARY KEY NOT NULL, `size` INTEGER NOT NULL, `refs` INTEGER NOT NULL)",
    "CREATE INDEX `IDX_jfs_chunk_ref_refs` ON `jfs_chunk_ref` (`refs`)",
    "CREATE TABLE `jfs_delslices` (`chunkid` INTEGER PRIMARY KEY NOT NULL, `deleted` INTEGER NOT NULL, `slices` BLOB NOT NULL)",
    "CREATE TABLE `jfs_session2` (`sid` INTEGER PRIMARY KEY NOT NULL, `expire` INTEGER NOT NULL, `info` BLOB NULL)",
    "CREATE TABLE `jfs_sustained` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `sid` INTEGER NOT NULL, `inode` "
    "INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX `UQE_jfs_sustained_sustained` ON `jfs_sustained` (`sid`,`inode`)",
    "CREATE TABLE `jfs_delfile` (`inode` INTEGER PRIMARY KEY NOT NULL, `length` INTEGER NOT NULL, `expire` INTEGER NOT NULL)",
    "CREATE TABLE `jfs_flock` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `inode` INTEGER NOT NULL, `sid` "
    "INTEGER NOT NULL, `owner` INTEGER NOT NULL, `ltype` INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX `UQE_jfs_flock_flock` ON `jfs_flock` (`inode`,`sid`,`owner`)",
    "CREATE TABLE `jfs_plock` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `inode` INTEGER NOT NULL, `sid` "
    "INTEGER NOT NULL, `owner` INTEGER NOT NULL, `records` BLOB NOT NULL)",
    "CREATE UNIQUE INDEX `UQE_jfs_plock_plock` ON `jfs_plock` (`inode`,`sid`,`owner`)",
    "CREATE TABLE `jfs_dir_quota` (`inode` INTEGER PRIMARY KEY NOT NULL, `max_space` INTEGER NOT NULL, `max_inodes` "
    "INTEGER NOT NULL, `used_space` INTEGER NOT NULL, `used_inodes` INTEGER NOT NULL)",
    "CREATE TABLE `jfs_user_group_quota` (`qtype` INTEGER NOT NULL, `qkey` INTEGER NOT NULL, `max_space` INTEGER NOT "
    "NULL, `max_inodes` INTEGER NOT NULL, `used_space` INTEGER NOT NULL, `used_inodes` INTEGER NOT NULL, PRIMARY KEY "
    "( `qtype`,`qkey` ))",
    "CREATE TABLE `jfs_dir_stats` (`inode` INTEGER PRIMARY KEY NOT NULL, `data_length` INTEGER NOT NULL, "
    "`used_space` INTEGER NOT NULL, `used_inodes` INTEGER NOT NULL)",
    "CREATE TABLE `jfs_detached_node` (`inode` INTEGER PRIMARY KEY NOT NULL, `added` INTEGER NOT NULL)",
    "CREATE TABLE `jfs_acl` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `owner` INTEGER NULL, `group` INTEGER "
    "NULL, `mask` INTEGER NULL, `other` INTEGER NULL, `named_users` BLOB NULL, `named_groups` BLOB NULL)",
    "CREATE TABLE `jfs_delegation_token` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `token` BLOB NULL)",
    "CREATE TABLE `jfs_change_log` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `entry` TEXT NOT NULL)",
};

TEST_F(SqliteStoreTest, SchemaIsTheOneOfTheGoClient) {
  auto store = formatted();
  auto schema = query("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY rowid");
  EXPECT_EQ(std::vector<std::string>(std::begin(kSchema), std::end(kSchema)), schema);
  EXPECT_TRUE(store->prepareSchema(true).isOk()) << "twice is fine";
}

TEST_F(SqliteStoreTest, CreateLikeTransaction) {
  auto store = formatted();
  Attr dir;
  dir.type = FileType::directory;
  dir.mode = 0755;
  dir.nlink = 2;
  Attr file;
  file.type = FileType::regular;
  file.mtime = {-3, 999'999'999};
  file.parent = 1;
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
    t.put(key::node(1), dir);
    t.put(key::dirStat(1), DirStat{});
    t.put(key::counter("usedSpace"), int64_t{0});
    return {};
  }).isOk());
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
    t.shared(1);
    TRY(t.node(1, kFieldsParent));
    TRY_ASSIGN(auto there, t.lookup(1, "a"));
    if (there) return Code::exists;
    t.insert(key::node(2), file);
    t.insert(key::dentry(1, "a"), Dentry{FileType::regular, 2});
    t.touch(1, Time{1'700'000'000, 5}, 100'000'000);
    t.addDirStat(1, {0, 4096, 1});
    t.add(key::counter("usedSpace"), 4096);
    return {};
  }).isOk());
  ASSERT_TRUE(read(*store, [&](MetaTxn& t) -> Status {
    TRY_ASSIGN(auto found, t.lookup(1, "a"));
    EXPECT_TRUE(found && found->attr && *found->attr == file);
    TRY_ASSIGN(auto now, t.node(1));
    EXPECT_EQ((Time{1'700'000'000, 5}), now.mtime);
    return {};
  }).isOk());
  EXPECT_EQ(std::vector<std::string>{"4096|1"}, query("SELECT used_space, used_inodes FROM jfs_dir_stats WHERE inode=1"));
  EXPECT_EQ(std::vector<std::string>{"-2000001|999"}, query("SELECT mtime, mtimensec FROM jfs_node WHERE inode=2"));
}

}  // namespace
}  // namespace aquifer::meta
