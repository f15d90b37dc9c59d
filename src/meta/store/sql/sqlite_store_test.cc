// What is particular to SQLite: the tables of JuiceFS, damaged files, old volumes, several connections.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "meta/store/registry.h"
#include "meta/store/sql/statements.h"
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

TEST_F(SqliteStoreTest, ChunksStayBlobsAndAreReadWhereTheyAreText) {
  auto store = formatted();
  // What the Go client leaves: the concatenation operator makes TEXT with zero bytes inside.
  exec("INSERT INTO jfs_chunk (inode, indx, slices) VALUES (5, 0, zeroblob(24))");
  exec("UPDATE jfs_chunk SET slices = slices || x'0000000100000000000000FF000000410000000000000041'");
  ASSERT_EQ(std::vector<std::string>{"text"}, query("SELECT typeof(slices) FROM jfs_chunk"));
  SliceList expected{{}, {1, 0xFF, 0x41, 0, 0x41}};
  uint32_t records = 0;
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto seen, t.find<SliceList>(key::chunk(5, 0)));
                EXPECT_EQ(expected, seen);
                t.appendSlice(5, 0, {4, 5, 6, 0, 6}, &records);
                return {};
              }).isOk());
  EXPECT_EQ(3u, records);
  expected.push_back({4, 5, 6, 0, 6});
  ASSERT_TRUE(read(*store, [&](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto seen, t.find<SliceList>(key::chunk(5, 0)));
                EXPECT_EQ(expected, seen);
                return {};
              }).isOk());
  EXPECT_EQ(std::vector<std::string>{"blob|72"}, query("SELECT typeof(slices), length(slices) FROM jfs_chunk"));
}

TEST_F(SqliteStoreTest, DamagedSliceListIsCorrupt) {
  auto store = formatted();
  exec("INSERT INTO jfs_chunk (inode, indx, slices) VALUES (5, 0, zeroblob(23))");
  EXPECT_EQ(Code::corrupt, read(*store, [&](MetaTxn& t) -> Status { return t.get(key::chunk(5, 0)).status(); }).code());
}

// A volume of release 1.0: no nanoseconds, no ACL, no tier, no newer tables, sessions in the old table.
TEST_F(SqliteStoreTest, OldVolumesAreReadAndUpgraded) {
  exec(
      "CREATE TABLE `jfs_setting` (`name` TEXT PRIMARY KEY NOT NULL, `value` TEXT NOT NULL);"
      "CREATE TABLE `jfs_counter` (`name` TEXT PRIMARY KEY NOT NULL, `value` INTEGER NOT NULL);"
      "CREATE TABLE `jfs_edge` (`id` INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, `parent` INTEGER NOT NULL, `name` BLOB NOT "
      "NULL, "
      "`inode` INTEGER NOT NULL, `type` INTEGER NOT NULL);"
      "CREATE UNIQUE INDEX `UQE_jfs_edge_edge` ON `jfs_edge` (`parent`,`name`);"
      "CREATE TABLE `jfs_node` (`inode` INTEGER PRIMARY KEY NOT NULL, `type` INTEGER NOT NULL, `flags` INTEGER NOT NULL, "
      "`mode` INTEGER NOT NULL, `uid` INTEGER NOT NULL, `gid` INTEGER NOT NULL, `atime` INTEGER NOT NULL, `mtime` INTEGER NOT "
      "NULL, "
      "`ctime` INTEGER NOT NULL, `nlink` INTEGER NOT NULL, `length` INTEGER NOT NULL, `rdev` INTEGER NULL, `parent` INTEGER "
      "NULL);"
      "CREATE TABLE `jfs_session` (`sid` INTEGER PRIMARY KEY NOT NULL, `heartbeat` INTEGER NOT NULL, `info` BLOB NULL);"
      "INSERT INTO jfs_setting VALUES ('format', '{}');"
      "INSERT INTO jfs_node VALUES (2, 1, 0, 420, 1, 2, 1000001, -1, 3, 1, 10, NULL, NULL);"
      "INSERT INTO jfs_edge VALUES (1, 1, 'old', 2, 1);"
      "INSERT INTO jfs_session VALUES (3, 1600000000, NULL);");
  auto store = open({});
  auto check = [&] {
    ASSERT_TRUE(read(*store, [&](MetaTxn& t) -> Status {
                  TRY_ASSIGN(auto entry, t.lookup(1, "old"));
                  EXPECT_FALSE(entry) << "the name is TEXT, which no client writes";
                  TRY_ASSIGN(auto attr, t.node(2));
                  EXPECT_EQ((Time{1, 1000}), attr.atime);
                  EXPECT_EQ((Time{-1, 999'999'000}), attr.mtime);
                  EXPECT_EQ(0u, attr.parent);
                  EXPECT_EQ(0u, attr.accessAcl);
                  for (auto& key : {key::dirStat(1), key::dirQuota(1), key::detached(1), key::acl(1), key::flock(1),
                                    key::symlink(1), key::userQuota(0)}) {
                    TRY_ASSIGN(auto value, t.get(key));
                    EXPECT_FALSE(value);
                  }
                  TRY_ASSIGN(auto session, t.find<SessionRecord>(key::session(3)));
                  EXPECT_EQ((SessionRecord{1'600'000'000, "", true}), session);
                  size_t sessions = 0;
                  TRY(t.list({Kind::session}, [&](const Key& key, const Value& value) {
                    EXPECT_EQ(3u, key.id);
                    EXPECT_TRUE(std::get<SessionRecord>(value).legacy);
                    ++sessions;
                    return true;
                  }));
                  EXPECT_EQ(1u, sessions);
                  return {};
                }).isOk());
  };
  check();
  // Before the upgrade, verbs on records that cannot be there are harmless.
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
                t.addDirStat(1, {1, 1, 1});
                t.touch(2, {-5, 0}, 0);
                return {};
              }).isOk());
  ASSERT_TRUE(store->prepareSchema(false).isOk());
  check();
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto attr, t.node(2));
                attr.mtime = {7, 123'456'789};
                attr.tier = 2;
                t.put(key::node(2), attr);
                t.put(key::session(3), SessionRecord{1'700'000'000, "{}", false});
                return {};
              }).isOk());
  EXPECT_EQ((std::vector<std::string>{"7123456|789|2"}), query("SELECT mtime, mtimensec, tier_id FROM jfs_node"));
  EXPECT_EQ((std::vector<std::string>{"0"}), query("SELECT count(*) FROM jfs_session"));
  EXPECT_EQ(
      (std::vector<std::string>{"INTEGER|0|1", "INTEGER|NULL|0"}),
      query("SELECT type, dflt_value, \"notnull\" FROM pragma_table_info('jfs_node') WHERE name IN ('mtimensec','tier_id')"));
}

TEST_F(SqliteStoreTest, NullColumnsReadAsZero) {
  auto store = formatted();
  exec("INSERT INTO jfs_node (inode,type,flags,mode,uid,gid,atime,mtime,ctime,nlink,length) VALUES (9,1,0,0,0,0,0,0,0,1,0)");
  exec("INSERT INTO jfs_session2 VALUES (1, 2, NULL)");
  exec("INSERT INTO jfs_acl (id, owner, \"group\", mask, other) VALUES (1, 6, 4, 65535, 0)");
  ASSERT_TRUE(read(*store, [&](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto attr, t.node(9));
                EXPECT_EQ(0u, attr.parent + attr.rdev + attr.tier + attr.defaultAcl);
                TRY_ASSIGN(auto session, t.find<SessionRecord>(key::session(1)));
                EXPECT_EQ((SessionRecord{2, "", false}), session);
                TRY_ASSIGN(auto rule, t.find<AclRule>(key::acl(1)));
                EXPECT_EQ((AclRule{6, 4, AclRule::kAbsent, 0, {}, {}}), rule);
                return {};
              }).isOk());
}

TEST_F(SqliteStoreTest, LockRowsAreThoseOfTheGoClient) {
  auto store = formatted();
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
                t.put(key::flock(5), FlockTable{{1, 0xF000'0000'0000'0001ull, 'W'}, {2, 7, 'R'}});
                t.put(key::plock(5), PlockTable{{1, 9, {{1, 42, 0, UINT64_MAX}}}});
                return {};
              }).isOk());
  EXPECT_EQ((std::vector<std::string>{"5|1|-1152921504606846975|87", "5|2|7|82"}),
            query("SELECT inode, sid, owner, ltype FROM jfs_flock ORDER BY sid"));
  EXPECT_EQ((std::vector<std::string>{"000000010000002A0000000000000000FFFFFFFFFFFFFFFF"}),
            query("SELECT hex(records) FROM jfs_plock"));
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
                t.put(key::flock(5), FlockTable{});
                t.erase(key::plock(5));
                return {};
              }).isOk());
  EXPECT_EQ((std::vector<std::string>{"0", "0"}),
            query("SELECT count(*) FROM jfs_flock UNION ALL SELECT count(*) FROM jfs_plock"));
}

TEST_F(SqliteStoreTest, RuleIdsComeFromTheTablesSequence) {
  auto store = formatted();
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
                t.add(key::counter(counter::kAclMaxId), 3);
                return {};
              }).isOk());
  exec("INSERT INTO jfs_acl (owner) VALUES (7)");  // as the Go client does
  EXPECT_EQ((std::vector<std::string>{"4"}), query("SELECT id FROM jfs_acl"));
  ASSERT_TRUE(read(*store, [&](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto last, t.find<int64_t>(key::counter(counter::kAclMaxId)));
                EXPECT_EQ(4, last);
                return {};
              }).isOk());
  EXPECT_EQ((std::vector<std::string>{"0"}), query("SELECT count(*) FROM jfs_counter"));
}

TEST_F(SqliteStoreTest, AMissingReferenceStaysMissing) {
  auto store = formatted();
  ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
                t.add(key::sliceRef(4, 4096), 1);
                TRY_ASSIGN(auto seen, t.get(key::sliceRef(4, 4096)));
                EXPECT_FALSE(seen);
                return {};
              }).isOk());
  EXPECT_EQ((std::vector<std::string>{"0"}), query("SELECT count(*) FROM jfs_chunk_ref"));
}

TEST_F(SqliteStoreTest, TableNamesFollowThePrefixOption) {
  path_ += "?table_prefix=team1&cache=shared";
  auto store = open();
  ASSERT_TRUE(store->prepareSchema(true).isOk());
  path_ = dir_ + "/meta.db";
  EXPECT_EQ((std::vector<std::string>{"21", "0"}),
            query("SELECT count(*) FROM sqlite_master WHERE type='table' AND name LIKE 'jfs\\_team1\\_%' ESCAPE '\\' "
                  "UNION ALL SELECT count(*) FROM sqlite_master WHERE name='jfs_node'"));
}

TEST_F(SqliteStoreTest, RefusesWhatIsNoDatabaseAndSaysWhich) {
  auto codeOf = [&](const StoreOptions& options) {
    auto store = openStore("sqlite3://" + path_, options);
    if (store) return Code::ok;
    EXPECT_NE(std::string::npos, store.status().text().find(path_)) << store.status().text();
    return store.code();
  };
  EXPECT_EQ(Code::notFormatted, codeOf({}));
  EXPECT_FALSE(std::filesystem::exists(path_)) << "asking must not create it";
  std::ofstream(path_) << std::string(8192, 'x');
  EXPECT_EQ(Code::corrupt, codeOf({}));
  EXPECT_EQ(Code::corrupt, codeOf({.readOnly = true}));
  path_ = dir_ + "/nowhere/meta.db";
  EXPECT_EQ(Code::config, codeOf({.create = true}));
  EXPECT_EQ(Code::notFormatted, codeOf({}));
  path_ = dir_;
  EXPECT_EQ(Code::config, codeOf({}));
  EXPECT_EQ(Code::config, openStore("sqlite3://", {}).code());
  EXPECT_EQ(Code::config, openStore("sqlite3://x?_journal=MEMORY", {}).code());
  EXPECT_EQ(Code::config, openStore("sqlite3://x?table_prefix=a'b", {}).code());
}

TEST_F(SqliteStoreTest, DamagedPagesAreCorrupt) {
  {
    auto store = formatted();
    ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status {
                  for (Ino i = 1; i < 60; ++i) t.put(key::node(i), Attr{});
                  return {};
                }).isOk());
  }
  auto page = std::stoul(query("SELECT rootpage FROM sqlite_master WHERE name='jfs_node'").front());
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>((page - 1) * 4096));
    file << std::string(4096, '\xee');
  }
  auto store = open({});
  auto s = read(*store, [&](MetaTxn& t) -> Status { return t.node(5).status(); });
  EXPECT_EQ(Code::corrupt, s.code()) << s.text();
  EXPECT_NE(std::string::npos, s.text().find(path_));
}

TEST_F(SqliteStoreTest, UnformattedAndFormattedByAnotherMeanwhile) {
  exec("CREATE TABLE unrelated (x)");
  auto store = open({});
  EXPECT_FALSE(*store->isEmpty());
  EXPECT_EQ(Code::notFormatted, store->prepareSchema(false).code());
  auto hasSetting = [&] {
    bool found = false;
    EXPECT_TRUE(read(*store, [&](MetaTxn& t) -> Status {
                  TRY_ASSIGN(auto value, t.get(key::setting()));
                  found = value.has_value();
                  return {};
                }).isOk());
    return found;
  };
  EXPECT_FALSE(hasSetting());
  auto other = formatted();
  ASSERT_TRUE(write(*other, [](MetaTxn& t) -> Status {
                t.put(key::setting(), std::string("{}"));
                return {};
              }).isOk());
  EXPECT_TRUE(hasSetting());
  ASSERT_TRUE(other->drop().isOk());
  EXPECT_FALSE(hasSetting());
}

TEST_F(SqliteStoreTest, ReadOnlyStoresReadAndLeaveNothingBehind) {
  formatted();
  auto files = [&] {
    std::vector<std::string> out;
    for (auto& f : std::filesystem::directory_iterator(dir_)) out.push_back(f.path().filename());
    return out;
  };
  EXPECT_EQ(std::vector<std::string>{"meta.db"}, files());
  {
    auto store = open({.readOnly = true});
    EXPECT_TRUE(read(*store, [](MetaTxn& t) -> Status { return t.get(key::setting()).status(); }).isOk());
    EXPECT_EQ(Code::readOnly, write(*store, [](MetaTxn& t) -> Status {
                                t.add(key::counter("x"), 1);
                                return {};
                              }).code());
    EXPECT_EQ(Code::readOnly, store->prepareSchema(true).code());
    EXPECT_EQ(Code::readOnly, store->drop().code());
  }
  EXPECT_EQ(std::vector<std::string>{"meta.db"}, files());
}

TEST_F(SqliteStoreTest, ATransactionInsideATransactionIsRefused) {
  auto store = formatted();
  EXPECT_TRUE(write(*store, [&](MetaTxn&) -> Status {
                EXPECT_EQ(Code::deadlock, store->run([](MetaTxn&) { return Status(); }, {}).code());
                EXPECT_EQ(Code::deadlock, store->prepareSchema(true).code());
                EXPECT_TRUE(store->run([](MetaTxn& t) { return t.get(key::setting()).status(); }, {.readOnly = true}).isOk());
                return {};
              }).isOk());
}

TEST_F(SqliteStoreTest, ReadersInsideReadersDoNotWaitForEachOther) {
  constexpr int kThreads = 12;  // more than there are pooled connections
  auto store = formatted();
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      EXPECT_TRUE(read(*store, [&](MetaTxn& t) -> Status {
                    TRY(t.get(key::setting()));
                    // Until the pool is used up.
                    for (++inside; inside < 8;) std::this_thread::yield();
                    return read(*store, [](MetaTxn& inner) { return inner.get(key::setting()).status(); });
                  }).isOk());
    });
  for (auto& t : threads) t.join();
}

TEST_F(SqliteStoreTest, WaitsForAnotherWriter) {
  auto store = formatted();
  sqlite3* other = nullptr;
  ASSERT_EQ(SQLITE_OK, sqlite3_open(path_.c_str(), &other));
  ASSERT_EQ(SQLITE_OK, sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr));
  std::atomic<bool> committed{false};
  std::thread writer([&] {
    EXPECT_TRUE(write(*store, [](MetaTxn& t) -> Status {
                  t.add(key::counter("x"), 1);
                  return {};
                }).isOk());
    committed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(committed);
  // Readers are not in anybody's way.
  EXPECT_TRUE(read(*store, [](MetaTxn& t) -> Status { return t.get(key::counter("x")).status(); }).isOk());
  ASSERT_EQ(SQLITE_OK, sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr));
  writer.join();
  sqlite3_close(other);
  EXPECT_EQ((std::vector<std::string>{"1"}), query("SELECT value FROM jfs_counter WHERE name='x'"));
}

TEST_F(SqliteStoreTest, GivesUpOnAWriterThatStays) {
  path_ += "?_timeout=10";
  auto store = formatted();
  path_ = dir_ + "/meta.db";
  sqlite3* other = nullptr;
  ASSERT_EQ(SQLITE_OK, sqlite3_open(path_.c_str(), &other));
  ASSERT_EQ(SQLITE_OK, sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr));
  EXPECT_EQ(Code::unavailable, store
                                   ->run(
                                       [](MetaTxn& t) -> Status {
                                         t.add(key::counter("x"), 1);
                                         return {};
                                       },
                                       {})
                                   .code());
  sqlite3_close(other);
}

// A transaction whose pages do not fit the cache or one write of the gathering layer.
TEST_F(SqliteStoreTest, LargeTransactionsSurviveReopening) {
  const std::string big(60'000, 'v');
  {
    auto store = formatted();
    for (int round = 0; round < 3; ++round)
      ASSERT_TRUE(store
                      ->run(
                          [&](MetaTxn& t) -> Status {
                            for (Ino i = 0; i < 100; ++i) t.put(key::xattr(i, "x" + std::to_string(round)), big);
                            return {};
                          },
                          {.powerSafe = true})
                      .isOk());
    ASSERT_TRUE(store->sync().isOk());
  }
  EXPECT_EQ((std::vector<std::string>{"300|18000000"}), query("SELECT count(*), sum(length(value)) FROM jfs_xattr"));
  EXPECT_EQ((std::vector<std::string>{"ok"}), query("PRAGMA integrity_check"));
}

// Commits and reads without a pause: the -wal begins anew now and then all the same.
TEST_F(SqliteStoreTest, TheWalStaysBoundedUnderSteadyLoad) {
  auto store = formatted();
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!stop)
        EXPECT_TRUE(store->run(
                             [](MetaTxn& t) -> Status {
                               TRY(t.get(key::xattr(1, "x")));
                               TRY(t.get(key::xattr(2, "x")));
                               return {};
                             },
                             {.readOnly = true})
                        .isOk());
    });
  const std::string value(60'000, 'v');
  uintmax_t most = 0;
  for (int i = 0; i < 4000; ++i) {   // 240 MB of values
    ASSERT_TRUE(write(*store, [&](MetaTxn& t) -> Status { return t.put(key::xattr(static_cast<Ino>(i % 50), "x"), value), Status(); }).isOk());
    if (i % 50 == 0) most = std::max(most, std::filesystem::file_size(path_ + "-wal"));
  }
  stop = true;
  for (auto& r : readers) r.join();
  EXPECT_LT(most, 100u << 20);
}

// The write of a commit to the -wal fails half way (the file may not grow): nothing of it is there, and the store goes on.
TEST_F(SqliteStoreTest, ACommitThatCannotBeWrittenLeavesNothing) {
  auto store = formatted();
  rlimit before{};
  ASSERT_EQ(0, ::getrlimit(RLIMIT_FSIZE, &before));
  auto* handler = ::signal(SIGXFSZ, SIG_IGN);
  auto limit = before;
  limit.rlim_cur = std::filesystem::file_size(path_ + "-wal") + 100'000;
  ASSERT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &limit));
  auto failed = store->run(
      [](MetaTxn& t) -> Status {
        t.add(key::counter("n"), 1);
        for (Ino i = 0; i < 90; ++i) t.put(key::xattr(i, "x"), std::string(10'000, 'v'));
        return {};
      },
      {});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(failed.is(Code::io) || failed.is(Code::noSpace)) << failed.text();
  ASSERT_TRUE(write(*store, [](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto n, t.get(key::counter("n")));
                EXPECT_FALSE(n);
                t.add(key::counter("n"), 5);
                return {};
              }).isOk());
  store.reset();
  EXPECT_EQ((std::vector<std::string>{"5|0"}),
            query("SELECT value, (SELECT count(*) FROM jfs_xattr) FROM jfs_counter WHERE name='n'"));
  EXPECT_EQ((std::vector<std::string>{"ok"}), query("PRAGMA integrity_check"));
}

// What was acknowledged is there after the process has been killed at any moment, and nothing is torn: both counters of a
// transaction agree.
TEST_F(SqliteStoreTest, AcknowledgedCommitsSurviveAKill) {
  formatted();
  auto* acknowledged =
      static_cast<std::atomic<int64_t>*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(acknowledged));
  std::mt19937 dice(7);
  for (int round = 0; round < 12; ++round) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = openStore("sqlite3://" + path_, {});
      while (store) {
        auto s = (*store)->run(
            [&](MetaTxn& t) -> Status {
              t.add(key::counter("a"), 1);
              for (Ino i = 0; i < 20; ++i) t.put(key::xattr(i, "x"), std::string(3000, 'v'));
              TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("b")));
              t.put(key::counter("b"), n.value_or(0) + 1);
              return {};
            },
            {});
        if (s) acknowledged->fetch_add(1);
      }
      ::_exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20'000 + dice() % 40'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    auto store = open({});
    ASSERT_TRUE(read(*store, [&](MetaTxn& t) -> Status {
                  TRY_ASSIGN(auto a, t.find<int64_t>(key::counter("a")));
                  TRY_ASSIGN(auto b, t.find<int64_t>(key::counter("b")));
                  EXPECT_EQ(a, b);
                  // One more may have been committed without the process having lived to count it, each round.
                  EXPECT_GE(a.value_or(0), acknowledged->load());
                  EXPECT_LE(a.value_or(0), acknowledged->load() + round + 1);
                  return {};
                }).isOk());
  }
  EXPECT_GT(acknowledged->load(), 0);
  ::munmap(acknowledged, 4096);
  EXPECT_EQ((std::vector<std::string>{"ok"}), query("PRAGMA integrity_check"));
}

TEST(SqliteDirectory, ListingsUseTheIndex) {
  char pattern[] = "/tmp/aquifer-plan-XXXXXX";
  std::string dir = ::mkdtemp(pattern), path = dir + "/meta.db";
  auto store = openStore("sqlite3://" + path, {.create = true});
  ASSERT_TRUE(store.isOk());
  ASSERT_TRUE((*store)->prepareSchema(true).isOk());
  sqlite3* db = nullptr;
  ASSERT_EQ(SQLITE_OK, sqlite3_open(path.c_str(), &db));
  auto plan = [&](const std::string& text) {
    std::string out;
    sqlite3_exec(
        db, ("EXPLAIN QUERY PLAN " + text).c_str(),
        [](void* all, int, char** v, char**) {
          *static_cast<std::string*>(all) += std::string(v[3]) + ";";
          return 0;
        },
        &out, nullptr);
    return out;
  };
  sql::Layout layout;
  for (auto& table : sql::sqliteTables("jfs_")) layout.tables[std::string(table.name)] = {};
  sql::Statements statements("jfs_", layout);
  using sql::Shape;
  using sql::Special;
  for (auto kind : {Kind::dentry, Kind::chunk, Kind::xattr, Kind::sustained})
    for (auto shape : {Shape::listAll, Shape::listAllAfter, Shape::listId, Shape::listIdAfter}) {
      auto text = statements.text(sql::Statements::id(kind, shape));
      auto how = plan(text);
      EXPECT_NE(std::string::npos, how.find("INDEX UQE")) << text << "\n" << how;
      EXPECT_EQ(std::string::npos, how.find("TEMP B-TREE")) << text << "\n" << how;
    }
  for (auto special : {Special::lookup, Special::listDir, Special::listDirPlus, Special::parentList, Special::unusedSlices}) {
    auto text = statements.text(sql::Statements::id(special));
    auto how = plan(text);
    EXPECT_EQ(std::string::npos, how.find("SCAN")) << text << "\n" << how;
    EXPECT_NE(std::string::npos, how.find("SEARCH")) << text << "\n" << how;
  }
  sqlite3_close(db);
  store->reset();
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace aquifer::meta
