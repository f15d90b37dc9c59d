// What only this store promises: the bytes on the server, commits that compare what matters, and an honest answer when a server
// fails.
#include "meta/store/redis/redis_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/encode.h"
#include "meta/model/codec.h"
#include "meta/store/redis/client.h"
#include "meta/store/redis/test_server.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {
namespace {

using redis::Address;
using redis::Client;
using redis::TestServer;

Attr directory() {
  Attr a;
  a.type = FileType::directory;
  a.mode = 0755;
  a.nlink = 2;
  a.length = 4096;
  a.mtime = a.ctime = {1000, 0};
  a.parent = 1;
  return a;
}

class RedisStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = TestServer::shared();
    if (!server_) GTEST_SKIP() << "redis-server is missing or does not start";
    url_ = server_->freshUrl();
    store_ = open(url_);
    auto address = redis::parseAddress(url_.substr(8), false);
    ASSERT_TRUE(address.isOk());
    raw_ = std::make_unique<Client>(*address);
  }
  void TearDown() override {
    if (!store_) return;
    EXPECT_TRUE(store_->drop().isOk());
  }
  static std::unique_ptr<MetaStore> open(const std::string& url, StoreOptions options = {.create = true}) {
    auto store = openStore(url, options);
    EXPECT_TRUE(store.isOk()) << store.status().text();
    return store ? std::move(*store) : nullptr;
  }
  // One reply as text: numbers in decimal, nil as "(nil)", lists joined by spaces.
  std::string ask(const redis::Command& command) {
    auto reply = raw_->write(command);
    EXPECT_TRUE(reply.isOk()) << reply.status().text();
    return reply ? text(reply->view()) : "";
  }
  static std::string text(redis::View v) {
    if (v.isNil()) return "(nil)";
    if (v.isInteger()) return std::to_string(v.integer());
    if (!v.isArray()) return std::string(v.text());
    std::string out;
    for (size_t i = 0; i < v.size(); ++i) out += (i ? " " : "") + text(v[i]);
    return out;
  }
  Status put(const Key& key, const Value& value) { return put(*store_, key, value); }
  static Status put(MetaStore& store, const Key& key, const Value& value) {
    return store.run(
        [&](MetaTxn& t) -> Status {
          t.put(key, value);
          return {};
        },
        {.operation = "test"});
  }
  Result<std::optional<Value>> get(const Key& key) {
    std::optional<Value> out;
    TRY(store_->run(
        [&](MetaTxn& t) -> Status {
          TRY_ASSIGN(out, t.get(key));
          return {};
        },
        {.operation = "test", .readOnly = true}));
    return out;
  }
  // Runs `body` once, while `other` commits between its reads and its commit.
  Code overtaken(const TxnBody& body, const TxnBody& other) {
    return open(url_)  // without guesses from before
        ->run(
            [&](MetaTxn& t) -> Status {
              auto status = body(t);
              EXPECT_TRUE(withTxn(*store_, {.operation = "other"}, other).isOk());
              return status;
            },
            {.operation = "test"})
        .code();
  }

  TestServer* server_ = nullptr;
  std::string url_;
  std::unique_ptr<MetaStore> store_;
  std::unique_ptr<Client> raw_;
};

TEST_F(RedisStoreTest, KeysAndValuesAreThoseOfJuiceFS) {
  auto attr = directory();
  ASSERT_TRUE(withTxn(*store_, {.operation = "test"}, [&](MetaTxn& t) -> Status {
                t.put(key::setting(), std::string("{}"));
                t.put(key::counter(counter::kNextInode), int64_t{1025});
                t.put(key::counter(counter::kNextChunk), int64_t{1});
                t.put(key::counter(counter::kNextSession), int64_t{7});
                t.put(key::counter(counter::kNextTrash), int64_t{3});
                t.put(key::node(5), attr);
                t.put(key::dentry(1, "name"), Dentry{FileType::directory, 5});
                t.appendSlice(6, 2, {0, 9, 10, 0, 10});
                t.put(key::sliceRef(9, 10), int64_t{3});
                t.put(key::sliceRef(8, 10), int64_t{1});
                t.put(key::symlink(7), std::string("target"));
                t.put(key::xattr(5, "user.a"), std::string("v"));
                t.add(key::parentCount(6, 5), 2);
                t.put(key::session(4), SessionRecord{1'700'000'000, "{}", false});
                t.put(key::sustained(4, 6), int64_t{1});
                t.put(key::delFile(8, 4096), int64_t{1'700'000'001});
                t.put(key::delSlices(100, 55), DelayedList{{9, 10}});
                t.put(key::dirStat(5), DirStat{1, 4096, -2});
                t.put(key::dirQuota(5), Quota{1, 2, 3, 4});
                t.addQuota(Kind::userQuota, 1000, 4096, 1);
                t.put(key::acl(3), AclRule{6, 4, 5, 0, {}, {}});
                t.put(key::flock(6), FlockTable{{4, 0x2BAE072AC35148D8, 'W'}});
                t.put(key::plock(6), PlockTable{{4, 1, {{1, 42, 0, 9}}}});
                t.put(key::detached(11), int64_t{12});
                t.log("first");
                t.log("second");
                return {};
              }).isOk());
  EXPECT_EQ("{}", ask({"GET", "setting"}));
  EXPECT_EQ("1024", ask({"GET", "nextinode"})) << "the last one used";
  EXPECT_EQ("0", ask({"GET", "nextchunk"}));
  EXPECT_EQ("7", ask({"GET", "nextsession"}));
  EXPECT_EQ("3", ask({"GET", "nextTrash"}));
  EXPECT_EQ(encodeAttr(attr), ask({"GET", "i5"}));
  EXPECT_EQ(std::string("\x02\0\0\0\0\0\0\0\x05", 9), ask({"HGET", "d1", "name"}));
  std::string record;
  encodeSlice(record, {0, 9, 10, 0, 10});
  EXPECT_EQ(record, ask({"LRANGE", "c6_2", "0", "-1"}));
  EXPECT_EQ("k9_10 2", ask({"HGETALL", "sliceRef"})) << "holders less one; one holder is not stored";
  EXPECT_EQ("target", ask({"GET", "s7"}));
  EXPECT_EQ("user.a v", ask({"HGETALL", "x5"}));
  EXPECT_EQ("5 2", ask({"HGETALL", "p6"}));
  EXPECT_EQ("4 1700000000", ask({"ZRANGE", "allSessions", "0", "-1", "WITHSCORES"}));
  EXPECT_EQ("4 {}", ask({"HGETALL", "sessionInfos"}));
  EXPECT_EQ("6", ask({"SMEMBERS", "session4"}));
  EXPECT_EQ("8:4096 1700000001", ask({"ZRANGE", "delfiles", "0", "-1", "WITHSCORES"}));
  EXPECT_EQ("100_55", ask({"HKEYS", "delSlices"}));
  EXPECT_EQ(encodeDelayed({{9, 10}}), ask({"HGET", "delSlices", "100_55"}));
  EXPECT_EQ("1 4096 -2", ask({"HGET", "dirDataLength", "5"}) + " " + ask({"HGET", "dirUsedSpace", "5"}) + " " +
                             ask({"HGET", "dirUsedInodes", "5"}));
  EXPECT_EQ("00000000000000010000000000000002", hexEncode(ask({"HGET", "dirQuota", "5"})));
  EXPECT_EQ("3 4", ask({"HGET", "dirQuotaUsedSpace", "5"}) + " " + ask({"HGET", "dirQuotaUsedInodes", "5"}));
  EXPECT_EQ("ffffffffffffffffffffffffffffffff", hexEncode(ask({"HGET", "userQuota", "1000"})));
  EXPECT_EQ("4096", ask({"HGET", "userQuotaUsedSpace", "1000"}));
  EXPECT_EQ(encodeAclRule({6, 4, 5, 0, {}, {}}), ask({"HGET", "acl", "3"}));
  EXPECT_EQ("4_2BAE072AC35148D8 W", ask({"HGETALL", "lockf6"}));
  EXPECT_EQ("4_0000000000000001", ask({"HKEYS", "lockp6"}));
  EXPECT_EQ("1 1", ask({"SMISMEMBER", "locked4", "lockf6", "lockp6"}));
  EXPECT_EQ("12", ask({"ZSCORE", "detachedNodes", "11"}));
  EXPECT_EQ("first second", ask({"LRANGE", "txnLog", "0", "-1"}));
  EXPECT_EQ("2", ask({"GET", "txnLastLog"}));
}

TEST_F(RedisStoreTest, TheIndexOfLocksFollowsTheTable) {
  auto table = [&](FlockTable t) { ASSERT_TRUE(put(key::flock(6), std::move(t)).isOk()); };
  table({{1, 1, 'R'}, {1, 2, 'R'}, {2, 1, 'R'}});
  table({{1, 2, 'R'}});
  EXPECT_EQ("lockf6", ask({"SMEMBERS", "locked1"}));
  EXPECT_EQ("0", ask({"EXISTS", "locked2"}));
  table({});
  EXPECT_EQ("0", ask({"EXISTS", "locked1", "lockf6"}));
}

TEST_F(RedisStoreTest, OnlyTheNamedFieldsOfANodeAreCompared) {
  ASSERT_TRUE(put(key::node(1), directory()).isOk());
  auto create = [](MetaTxn& t) -> Status {
    TRY(t.node(1, kFieldsParent));
    t.insert(key::dentry(1, "n"), Dentry{FileType::regular, 5});
    t.erase(key::dentry(1, "n"));
    t.add(key::counter(counter::kTotalInodes), 1);
    return {};
  };
  auto change = [](auto&& f) {
    return [f](MetaTxn& t) -> Status {
      TRY_ASSIGN(auto a, t.node(1));
      f(a);
      t.put(key::node(1), a);
      return {};
    };
  };
  EXPECT_EQ(Code::ok, overtaken(create, change([](Attr& a) { a.mtime = a.ctime = a.atime = {5000, 1}; })));
  EXPECT_EQ(Code::ok, overtaken(create, change([](Attr& a) { a.nlink = 9; })));
  EXPECT_EQ(Code::ok, overtaken(create, change([](Attr& a) { a.length = 1; })));
  EXPECT_EQ(Code::conflict, overtaken(create, change([](Attr& a) { a.mode = 0700; })));
  EXPECT_EQ(Code::conflict, overtaken(create, change([](Attr& a) { a.flags = kFlagImmutable; })));
  EXPECT_EQ(Code::conflict, overtaken(create, change([](Attr& a) { a.uid = 7; })));
  EXPECT_EQ(Code::conflict, overtaken(create, change([](Attr& a) { a.parent = 12; })));
  EXPECT_EQ(Code::conflict, overtaken(create, change([](Attr& a) { a.defaultAcl = 3; })));
  EXPECT_EQ(Code::conflict, overtaken(create, change([](Attr& a) { a.tier = 1; })));
  EXPECT_EQ(Code::conflict, overtaken(create, [](MetaTxn& t) -> Status {
              t.erase(key::node(1));
              return {};
            }));
  EXPECT_EQ("3", ask({"GET", "totalInodes"})) << "a refused commit has changed nothing";
}

TEST_F(RedisStoreTest, WhatABodyReliedOnIsCompared) {
  ASSERT_TRUE(withTxn(*store_, {.operation = "test"}, [](MetaTxn& t) -> Status {
                t.put(key::node(1), directory());
                t.put(key::dentry(1, "a"), Dentry{FileType::regular, 5});
                t.put(key::xattr(5, "x"), std::string("1"));
                t.put(key::sustained(3, 5), int64_t{1});
                t.appendSlice(5, 0, {0, 1, 1, 0, 1});
                return {};
              }).isOk());
  auto probe = [](auto read) {
    return [read](MetaTxn& t) -> Status {
      TRY(read(t));
      t.add(key::counter(counter::kUsedSpace), 1);
      return {};
    };
  };
  auto reads = [&](const Key& key) { return probe([key](MetaTxn& t) { return t.get(key); }); };
  auto lists = [&](const Range& range) {
    return probe([range](MetaTxn& t) { return t.list(range, [](const Key&, const Value&) { return true; }); });
  };
  auto puts = [](const Key& key, const Value& value) {
    return [=](MetaTxn& t) -> Status {
      t.put(key, value);
      return {};
    };
  };
  EXPECT_EQ(Code::conflict, overtaken(reads(key::dentry(1, "a")), puts(key::dentry(1, "a"), Dentry{FileType::regular, 6})));
  EXPECT_EQ(Code::conflict,
            overtaken(reads(key::dentry(1, "absent")), puts(key::dentry(1, "absent"), Dentry{FileType::regular, 6})));
  EXPECT_EQ(Code::ok, overtaken(reads(key::dentry(1, "a")), puts(key::dentry(1, "b"), Dentry{FileType::regular, 6})));
  EXPECT_EQ(Code::conflict, overtaken(lists({Kind::xattr, 5}), puts(key::xattr(5, "y"), std::string("2"))));
  EXPECT_EQ(Code::conflict, overtaken(lists({Kind::xattr, 9}), puts(key::xattr(9, "y"), std::string("2"))));
  EXPECT_EQ(Code::conflict, overtaken(lists({Kind::sustained, 3}), puts(key::sustained(3, 6), int64_t{1})));
  EXPECT_EQ(Code::conflict, overtaken(lists({Kind::dentry, 1}), puts(key::dentry(1, "c"), Dentry{FileType::regular, 6})));
  EXPECT_EQ(Code::conflict, overtaken(reads(key::chunk(5, 0)), [](MetaTxn& t) -> Status {
              t.appendSlice(5, 0, {1, 2, 1, 0, 1});
              return {};
            }));
  EXPECT_EQ(Code::conflict, overtaken(probe([](MetaTxn& t) { return t.isEmpty(Kind::dentry, 77); }),
                                      puts(key::dentry(77, "x"), Dentry{FileType::regular, 6})));
  // A prefetch alone is a hint, not reliance.
  EXPECT_EQ(Code::ok, overtaken(
                          [](MetaTxn& t) -> Status {
                            const Key both[] = {key::node(1), key::dentry(1, "a")};
                            t.prefetch(both);
                            t.add(key::counter(counter::kUsedSpace), 1);
                            return {};
                          },
                          puts(key::dentry(1, "a"), Dentry{FileType::regular, 9})));
}

TEST_F(RedisStoreTest, ARefusalFromReadsOfTwoMomentsIsChecked) {
  ASSERT_TRUE(put(key::node(1), directory()).isOk());
  auto decide = [](MetaTxn& t) -> Status {
    TRY(t.node(1));
    TRY_ASSIGN(auto n, t.find<int64_t>(key::counter(counter::kUsedSpace)));
    return n ? Status() : Status(Code::busy);
  };
  EXPECT_EQ(Code::conflict, overtaken(decide, [](MetaTxn& t) -> Status {
              t.put(key::counter(counter::kUsedSpace), int64_t{1});
              return {};
            }));
}

TEST_F(RedisStoreTest, AWrongGuessCostsATripAndNothingElse) {
  ASSERT_TRUE(put(key::node(1), directory()).isOk());
  auto other = open(url_);
  auto take = [&](MetaStore& store, Ino ino) {
    return store.run(
        [&](MetaTxn& t) -> Status {
          TRY(t.node(1, kFieldsParent));
          TRY_ASSIGN(auto found, t.lookup(1, "n"));
          if (found) return Code::busy;
          t.insert(key::dentry(1, "n"), Dentry{FileType::regular, ino});
          t.insert(key::node(ino), directory());
          return {};
        },
        {.operation = "test"});
  };
  auto look = [&] {
    ASSERT_TRUE(withRead(*store_, "test", [](MetaTxn& t) -> Status {
                  TRY(t.node(1));
                  return statusOf(t.lookup(1, "n"));
                }).isOk());
  };
  look();  // the name is free, as far as this client knows
  ASSERT_TRUE(take(*other, 7).isOk());
  EXPECT_EQ(Code::busy, take(*store_, 8).code());
  EXPECT_EQ("0", ask({"EXISTS", "i8"}));
  look();  // taken, as far as this client knows
  ASSERT_TRUE(withTxn(*other, {.operation = "test"}, [](MetaTxn& t) -> Status {
                t.erase(key::dentry(1, "n"));
                t.erase(key::node(7));
                return {};
              }).isOk());
  EXPECT_EQ(Code::ok, take(*store_, 9).code()) << "a refusal is never guessed";
  auto before = redisRoundTrips();
  ASSERT_TRUE(store_
                  ->run(
                      [](MetaTxn& t) -> Status {
                        TRY_ASSIGN(auto a, t.node(9));
                        a.mode = 0700;
                        t.put(key::node(9), a);
                        return {};
                      },
                      {.operation = "test"})
                  .isOk());
  EXPECT_EQ(before + 1, redisRoundTrips()) << "what it has written itself is a good guess";
}

TEST_F(RedisStoreTest, EveryCommitFailsTheWatchOfOthers) {
  ASSERT_TRUE(put(key::node(1), directory()).isOk());
  std::string port = std::to_string(server_->port());
  auto address = redis::parseAddress(url_.substr(8), false);
  ASSERT_TRUE(address.isOk());
  auto other = redis::Connection::open(*address);
  ASSERT_TRUE(other.isOk());
  auto say = [&](const redis::Command& command) {
    std::string bytes;
    redis::encodeCommand(bytes, command);
    auto replies = (*other)->exchange(bytes, 1);
    return replies ? text((*replies)[0].view()) : replies.status().text();
  };
  for (bool touched : {true, false}) {
    EXPECT_EQ("OK", say({"WATCH", "i1", "d1"}));
    if (touched) {
      ASSERT_TRUE(withTxn(*store_, {.operation = "test"}, [](MetaTxn& t) -> Status {
                    t.addNlink(1, 1);
                    return {};
                  }).isOk());
    }
    EXPECT_EQ("OK", say({"MULTI"}));
    EXPECT_EQ("QUEUED", say({"SET", "probe", "x"}));
    EXPECT_EQ(touched ? "(nil)" : "OK", say({"EXEC"}));
  }
}

TEST_F(RedisStoreTest, InodesBeyondLuaNumbersAreFollowed) {
  for (Ino ino : {Ino{1}, Ino{1} << 32, (Ino{1} << 53) - 1, (Ino{1} << 53) + 1, Ino{0x7FFFFFFF10000001}, Ino{UINT64_MAX}}) {
    auto attr = directory();
    attr.length = ino;
    ASSERT_TRUE(withTxn(*store_, {.operation = "test"}, [&](MetaTxn& t) -> Status {
                  t.put(key::node(ino), attr);
                  t.put(key::dentry(1, "n"), Dentry{FileType::directory, ino});
                  return {};
                }).isOk());
    ASSERT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) -> Status {
                  TRY(t.lookup(1, "absent"));  // the server knows the script from here on
                  auto before = redisRoundTrips();
                  TRY_ASSIGN(auto found, t.lookup(1, "n"));
                  EXPECT_EQ(before + 1, redisRoundTrips());
                  EXPECT_TRUE(found && found->attr && found->attr->length == ino) << ino;
                  return {};
                }).isOk());
  }
}

TEST_F(RedisStoreTest, AForgottenScriptIsSentAgain) {
  ASSERT_TRUE(put(key::node(1), directory()).isOk());
  EXPECT_EQ("OK", ask({"SCRIPT", "FLUSH"}));
  EXPECT_TRUE(put(key::node(2), directory()).isOk());
  EXPECT_EQ("OK", ask({"SCRIPT", "FLUSH"}));
  EXPECT_TRUE(withRead(*store_, "test", [](MetaTxn& t) -> Status {
                TRY(t.lookup(1, "absent"));
                return {};
              }).isOk());
}

TEST_F(RedisStoreTest, DamageIsAnErrorNotACrash) {
  for (auto& command : std::vector<redis::Command>{{"SET", "i5", "short"},
                                                   {"HSET", "d1", "n", "short"},
                                                   {"RPUSH", "c5_0", "short"},
                                                   {"SET", "nextinode", "many"},
                                                   {"SET", "nextchunk", "9223372036854775807"},
                                                   {"HSET", "sliceRef", "k1_1", ""},
                                                   {"HSET", "dirUsedSpace", "5", "x"},
                                                   {"HSET", "dirQuota", "5", "short"},
                                                   {"HSET", "lockf5", "no-owner", "W"},
                                                   {"HSET", "lockp5", "1_G", ""},
                                                   {"HSET", "acl", "1", "x"},
                                                   {"HSET", "i6", "a", "hash"}})
    ask(command);
  for (auto& key :
       {key::node(5), key::dentry(1, "n"), key::chunk(5, 0), key::counter(counter::kNextInode), key::counter(counter::kNextChunk),
        key::sliceRef(1, 1), key::dirStat(5), key::dirQuota(5), key::flock(5), key::plock(5), key::acl(1), key::node(6)})
    EXPECT_EQ(Code::corrupt, get(key).code()) << static_cast<int>(key.kind);
  EXPECT_EQ(Code::invalid, get(key::counter("i5")).code()) << "a counter may not be any key";
  // Names that are not ours are passed over.
  ask({"SET", "i5x", "1"});
  ask({"SET", "c5", "1"});
  ask({"ZADD", "delfiles", "1", "legacy"});
  ask({"HSET", "delSlices", "1", "x"});
  for (auto kind : {Kind::delFile, Kind::delSlices, Kind::symlink})
    EXPECT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) {
                  return t.list({kind}, [](const Key&, const Value&) { return true; });
                }).isOk());
}

TEST_F(RedisStoreTest, LargeDirectoriesComeInOrderAndOnce) {
  constexpr int kEntries = 25'000;
  std::vector<redis::Command> commands;
  for (int i = 0; i < kEntries; ++i) {
    if (i % 500 == 0) commands.push_back({"HSET", "d9"});
    commands.back().push_back("f" + std::to_string(i));
    commands.back().push_back(encodeDentry({FileType::regular, static_cast<Ino>(100 + i)}));
  }
  ASSERT_TRUE(raw_->read(commands).isOk());
  size_t seen = 0, pages = 0;
  std::string after;
  auto before = redisRoundTrips();
  for (bool more = true; more; ++pages) {
    std::vector<DirEntry> page;
    ASSERT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) -> Status {
                  TRY_ASSIGN(page, t.listDir(9, after, 1000, false));
                  return {};
                }).isOk());
    for (auto& entry : page) {
      EXPECT_LT(after, entry.name);
      after = entry.name;
      EXPECT_EQ("f" + std::to_string(entry.dentry.ino - 100), entry.name);
    }
    seen += page.size();
    more = page.size() == 1000;
    // Gone between two pages: must not show up; the page is filled with what follows.
    if (pages == 3) {
      EXPECT_EQ("3", ask({"HDEL", "d9", "f5", "f50", "f500"}));
    }
  }
  // Names before the fourth page were given already: f0 f1 f10 … are sorted as text.
  EXPECT_GE(seen, static_cast<size_t>(kEntries - 3));
  EXPECT_LE(seen, static_cast<size_t>(kEntries));
  EXPECT_LT(redisRoundTrips() - before, 3 * pages) << "not one scan of everything for each page";
  // From the start again: what is there now.
  ASSERT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto all, t.listDir(9, "", SIZE_MAX, false));
                EXPECT_EQ(static_cast<size_t>(kEntries - 3), all.size());
                return {};
              }).isOk());
}

TEST_F(RedisStoreTest, TheChangeLogLosesItsOldestOnly) {
  for (int i = 1; i <= 5; ++i)
    ASSERT_TRUE(withTxn(*store_, {.operation = "test"}, [&](MetaTxn& t) -> Status {
                  t.log(std::to_string(i));
                  return {};
                }).isOk());
  auto erase = [&](std::vector<uint64_t> versions) {
    return store_
        ->run(
            [&](MetaTxn& t) -> Status {
              TRY(t.list({Kind::changeLog}, [](const Key&, const Value&) { return true; }));
              for (auto v : versions) t.erase(Key{Kind::changeLog, v, 0, {}});
              return {};
            },
            {.operation = "test"})
        .code();
  };
  EXPECT_EQ(Code::ok, erase({1, 2}));
  EXPECT_EQ("3 4 5", ask({"LRANGE", "txnLog", "0", "-1"}));
  EXPECT_EQ("5", ask({"GET", "txnLastLog"}));
  EXPECT_EQ(Code::unsupported, erase({3, 5}));
  EXPECT_EQ("3 4 5", ask({"LRANGE", "txnLog", "0", "-1"}));
}

// ---- failing servers ----

TEST_F(RedisStoreTest, ALateAnswerLeavesTheOutcomeOpen) {
  auto impatient = open(url_ + "?read-timeout=200ms");
  ASSERT_TRUE(put(*impatient, key::counter(counter::kUsedSpace), int64_t{1}).isOk());
  // A busy server: the commit waits in its socket until long after the client has given up.
  std::thread busy([&] { ask({"EVAL", "for i = 1, 400000000 do end return 1", "0"}); });
  sleepMs(50);
  EXPECT_EQ(Code::maybeCommitted, put(*impatient, key::counter(counter::kUsedSpace), int64_t{2}).code());
  busy.join();
  sleepMs(100);
  EXPECT_EQ("2", ask({"GET", "usedSpace"})) << "it was carried out after all";
  // Paused, it forgets the commit when the connection goes.
  EXPECT_EQ("OK", ask({"CLIENT", "PAUSE", "600", "WRITE"}));
  EXPECT_EQ(Code::maybeCommitted, put(*impatient, key::counter(counter::kUsedSpace), int64_t{3}).code());
  sleepMs(600);
  EXPECT_EQ("2", ask({"GET", "usedSpace"}));
  EXPECT_EQ("OK", ask({"CLIENT", "PAUSE", "600", "ALL"}));
  auto read = impatient->run([](MetaTxn& t) -> Status { return statusOf(t.node(1)); }, {.operation = "test", .readOnly = true});
  EXPECT_EQ(Code::unavailable, read.code()) << "a read may be repeated";
  sleepMs(500);
}

TEST(RedisServers, ALostConnectionDuringACommitLeavesTheOutcomeOpen) {
  auto server = TestServer::start();
  if (!server) GTEST_SKIP() << "redis-server is missing or does not start";
  auto opened = openStore(server->url(0), {.create = true});
  ASSERT_TRUE(opened.isOk());
  auto& store = **opened;
  auto put = [&](int64_t n) {
    return store.run(
        [&](MetaTxn& t) -> Status {
          t.put(key::counter(counter::kUsedSpace), n);
          return {};
        },
        {.operation = "test"});
  };
  ASSERT_TRUE(put(1).isOk());
  auto address = redis::parseAddress(server->url(0).substr(8), false);
  Client raw(*address);
  ASSERT_TRUE(raw.write({"CLIENT", "PAUSE", "5000", "WRITE"}).isOk());
  std::thread killer([&] {
    sleepMs(200);
    server->stop();
  });
  EXPECT_EQ(Code::maybeCommitted, put(2).code());
  killer.join();
  // Nobody there: nothing was sent.
  EXPECT_EQ(Code::unavailable, put(3).code());
  EXPECT_EQ(Code::io,
            withTxn(store, {.operation = "test"}, [](MetaTxn& t) -> Status { return statusOf(t.node(1)); }, {.deadlineMs = 200})
                .code());
  // Back again: the same store goes on.
  ASSERT_TRUE(server->launch());
  EXPECT_TRUE(put(4).isOk());
  // A server that was restarted while nobody talked to it is noticed before anything is sent.
  server->stop();
  ASSERT_TRUE(server->launch());
  EXPECT_TRUE(put(5).isOk());
}

TEST(RedisServers, AFullServerRefusesWholeCommits) {
  auto server = TestServer::start();
  if (!server) GTEST_SKIP() << "redis-server is missing or does not start";
  auto opened = openStore(server->url(0), {.create = true});
  ASSERT_TRUE(opened.isOk());
  Client raw(*redis::parseAddress(server->url(0).substr(8), false));
  ASSERT_TRUE(raw.write({"CONFIG", "SET", "maxmemory", "1"}).isOk());
  auto status = (*opened)->run(
      [](MetaTxn& t) -> Status {
        t.put(key::node(5), directory());
        t.put(key::dentry(1, "n"), Dentry{FileType::directory, 5});
        return {};
      },
      {.operation = "test"});
  EXPECT_EQ(Code::noSpace, status.code()) << status.text();
  EXPECT_EQ(0, raw.readOne({"DBSIZE"})->view().integer());
}

TEST(RedisServers, PasswordsAreSentAndNotShown) {
  auto server = TestServer::start({"--requirepass", "s3cret/w@rd"});
  if (!server) GTEST_SKIP() << "redis-server is missing or does not start";
  auto at = "127.0.0.1:" + std::to_string(server->port()) + "/1";
  auto status = [](const std::string& url) { return openStore(url, {.create = true}).status(); };
  EXPECT_TRUE(status("redis://:s3cret%2Fw%40rd@" + at).isOk());
  EXPECT_TRUE(status("redis://default:s3cret%2fw@rd@" + at).isOk());
  EXPECT_TRUE(status("unix://:s3cret%2Fw%40rd@" + server->socketPath() + "?db=1").isOk());
  auto refused = status("redis://:wr0ng@" + at);
  EXPECT_EQ(Code::config, refused.code());
  EXPECT_EQ(std::string::npos, refused.text().find("wr0ng"));
  EXPECT_EQ(Code::config, status("redis://" + at).code());
  ::setenv("META_PASSWORD", "s3cret/w@rd", 1);
  EXPECT_TRUE(status("redis://" + at).isOk());
  ::setenv("REDIS_PASSWORD", "other", 1);
  EXPECT_EQ(Code::config, status("redis://" + at).code()) << "REDIS_PASSWORD goes first";
  ::unsetenv("REDIS_PASSWORD");
  ::unsetenv("META_PASSWORD");
}

TEST_F(RedisStoreTest, ManyThreadsShareFewConnections) {
  auto store = open(url_ + "?pool-size=2");
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n)
        if (put(*store, key::node(static_cast<Ino>(1000 + i * 100 + n)), directory())) ++done;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(400, done);
  EXPECT_EQ(Code::invalid, put(*store, key::node(1), Value(int64_t{1})).code()) << "a value of another kind";
}

TEST_F(RedisStoreTest, AReadOnlyStoreDoesNotWrite) {
  ASSERT_TRUE(put(key::node(1), directory()).isOk());
  auto reader = open(url_, {.readOnly = true});
  EXPECT_EQ(Code::readOnly, put(*reader, key::node(2), directory()).code());
  EXPECT_EQ(Code::readOnly, reader->drop().code());
  EXPECT_EQ("1", ask({"DBSIZE"}));
}

// ---- addresses ----

TEST(RedisUrl, Forms) {
  auto parse = [](const std::string& rest, bool socket = false) {
    auto a = redis::parseAddress(rest, socket);
    EXPECT_TRUE(a.isOk()) << rest << ": " << a.status().text();
    return a ? *a : Address();
  };
  auto a = parse("user:p%40ss:w@rd@db.example:7000/3?read_timeout=500ms&write-timeout=2&pool-size=7");
  EXPECT_EQ("user", a.user);
  EXPECT_EQ("p@ss:w@rd", a.password);
  EXPECT_EQ("db.example", a.host);
  EXPECT_EQ(7000, a.port);
  EXPECT_EQ(3, a.db);
  EXPECT_EQ(500, a.readMs);
  EXPECT_EQ(2000, a.writeMs);
  EXPECT_EQ(7, a.connections);
  EXPECT_EQ("redis://db.example:7000/3", a.text()) << "no secret in messages";
  a = parse("localhost");
  EXPECT_EQ(6379, a.port);
  EXPECT_EQ(0, a.db);
  EXPECT_EQ(1, parse("localhost/1").db);
  EXPECT_EQ(0, parse("localhost/").db);
  EXPECT_EQ("127.0.0.1", parse(":6400/1").host);
  EXPECT_EQ("::1", parse("[::1]:6400/1").host);
  EXPECT_EQ(6400, parse("[::1]:6400/1").port);
  EXPECT_EQ("redis://[::1]:6379/0", parse("[::1]").text());
  EXPECT_EQ("a?b", parse(":a?b@host/1?db=2").password);
  EXPECT_EQ(2, parse(":a?b@host/1?db=2").db);
  a = parse("u:p@/run/redis.sock?db=4", true);
  EXPECT_EQ("/run/redis.sock", a.socketPath);
  EXPECT_EQ("p", a.password);
  EXPECT_EQ(4, a.db);
  EXPECT_EQ("unix:///run/redis.sock?db=4", a.text());
}

TEST(RedisUrl, Refusals) {
  for (auto& rest : {"host:0", "host:70000", "host:x", "host/x", "host/-1", "[::1", "[::1]x", "host?nonsense=1",
                     "host?read-timeout=x", "host?pool-size=0", "u%zz:p@host", "host/99999999999"})
    EXPECT_EQ(Code::config, redis::parseAddress(rest, false).code()) << rest;
  EXPECT_EQ(Code::config, redis::parseAddress("relative/path", true).code());
  auto text = [](const std::string& url) { return openStore(url, {}).status().text(); };
  EXPECT_NE(std::string::npos, text("redis://mymaster,10.0.0.1:26379,10.0.0.2/1").find("Sentinel"));
  EXPECT_NE(std::string::npos, text("redis://10.0.0.1:7000,10.0.0.2:7000/1").find("Cluster"));
  EXPECT_NE(std::string::npos, text("rediss://host/1").find("TLS"));
  EXPECT_EQ(Code::unavailable, openStore("redis://127.0.0.1:1/1", {}).status().code());
}

}  // namespace
}  // namespace aquifer::meta
