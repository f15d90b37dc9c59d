// What only the strictest store refuses: each thing that a body relied on, changed by somebody else before its commit.
#include "meta/store/mem/mem_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "meta/store/mem/mem_database.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {
namespace {

Attr directory() {
  Attr a;
  a.type = FileType::directory;
  a.nlink = 2;
  a.parent = 1;
  return a;
}

class MemStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int number = 0;
    name_ = "memtest" + std::to_string(++number);
    store_ = *openMemStore(name_, {});
    ASSERT_TRUE(run([](MetaTxn& t) -> Status {
                  t.put(key::node(1), directory());
                  t.put(key::node(2), directory());
                  t.put(key::dentry(1, "b"), Dentry{FileType::directory, 2});
                  return {};
                }).isOk());
  }
  void TearDown() override { forgetMemStore(name_); }
  Status run(const TxnBody& body) { return store_->run(body, {}); }
  // `mine` commits after `other` has, though it began before.
  Code overtaken(const TxnBody& mine, const TxnBody& other) {
    return run([&](MetaTxn& t) -> Status {
             TRY(mine(t));
             EXPECT_TRUE(run(other).isOk());
             return {};
           })
        .code();
  }
  static TxnBody reading(const std::function<Status(MetaTxn&)>& read) {
    return [read](MetaTxn& t) -> Status {
      TRY(read(t));
      t.put(key::counter("mine"), int64_t{1});
      return {};
    };
  }
  static TxnBody nodeRead(Ino ino, uint32_t fields) {
    return reading([=](MetaTxn& t) { return t.get(key::node(ino), fields).status(); });
  }
  std::string name_;
  std::unique_ptr<MetaStore> store_;
};

TEST_F(MemStoreTest, OnlyTheFieldsThatWereNamedCount) {
  auto touch = [](MetaTxn& t) -> Status {
    t.touch(2, {1000, 0}, 0);
    t.addNlink(2, 1);
    return {};
  };
  EXPECT_EQ(Code::ok, overtaken(nodeRead(2, kFieldsParent), touch));
  EXPECT_EQ(Code::conflict, overtaken(nodeRead(2, kFieldsAll), [](MetaTxn& t) -> Status {
              t.touch(2, {2000, 0}, 0);
              return {};
            }));
  EXPECT_EQ(Code::conflict, overtaken(nodeRead(2, kFieldNlink), touch));
  EXPECT_EQ(Code::conflict, overtaken(nodeRead(2, kFieldsParent), [](MetaTxn& t) -> Status {
              auto a = directory();
              a.parent = 9;
              t.put(key::node(2), a);
              return {};
            }));
}

TEST_F(MemStoreTest, ANodeThatWentAndCameBackIsAnother) {
  EXPECT_EQ(Code::conflict, overtaken(nodeRead(2, kFieldsParent), [&](MetaTxn&) -> Status {
              EXPECT_TRUE(run([](MetaTxn& t) -> Status {
                            t.erase(key::node(2));
                            return {};
                          }).isOk());
              EXPECT_TRUE(run([](MetaTxn& t) -> Status {
                            t.put(key::node(2), directory());
                            return {};
                          }).isOk());
              return {};
            }));
}

TEST_F(MemStoreTest, AWholePutRefusesToUndoFieldsItDidNotRead) {
  auto mine = [](MetaTxn& t) -> Status {
    TRY_ASSIGN(auto attr, t.node(2, kFieldsParent));
    attr.mode = 0700;
    t.put(key::node(2), attr);
    return {};
  };
  EXPECT_EQ(Code::conflict, overtaken(mine, [](MetaTxn& t) -> Status {
              t.addNlink(2, 1);
              return {};
            }));
}

TEST_F(MemStoreTest, AbsencesAndLookupsAreReliedOn) {
  auto put = [](const Key& key, const Value& value) {
    return [=](MetaTxn& t) -> Status {
      t.put(key, value);
      return {};
    };
  };
  auto absent = reading([](MetaTxn& t) { return t.lookup(1, "a").status(); });
  EXPECT_EQ(Code::conflict, overtaken(absent, put(key::dentry(1, "a"), Dentry{FileType::regular, 7})));
  auto present = reading([](MetaTxn& t) { return t.lookup(1, "b", kFieldMode).status(); });
  EXPECT_EQ(Code::conflict, overtaken(present, put(key::dentry(1, "b"), Dentry{FileType::regular, 7})));
  EXPECT_TRUE(run(put(key::dentry(1, "b"), Dentry{FileType::directory, 2})).isOk());
  auto other = directory();
  other.mode = 0111;
  EXPECT_EQ(Code::conflict, overtaken(present, put(key::node(2), other)));
  other.uid = 5;
  EXPECT_EQ(Code::ok, overtaken(present, put(key::node(2), other)));
}

TEST_F(MemStoreTest, VisitedRangesAreReliedOn) {
  auto insert = [](const std::string& name) {
    return [=](MetaTxn& t) -> Status {
      t.put(key::dentry(1, name), Dentry{FileType::regular, 7});
      return {};
    };
  };
  auto list = [](size_t limit) { return reading([=](MetaTxn& t) { return t.listDir(1, "", limit, false).status(); }); };
  EXPECT_EQ(Code::ok, overtaken(list(1), insert("z"))) << "behind what was seen";
  EXPECT_EQ(Code::conflict, overtaken(list(1), insert("a")));
  EXPECT_EQ(Code::conflict, overtaken(list(SIZE_MAX), insert("zz")));
  EXPECT_EQ(Code::conflict, overtaken(list(SIZE_MAX), [](MetaTxn& t) -> Status {
              t.erase(key::dentry(1, "zz"));
              return {};
            }));
  auto emptiness = reading([](MetaTxn& t) { return t.isEmpty(Kind::dentry, 2).status(); });
  EXPECT_EQ(Code::conflict, overtaken(emptiness, [](MetaTxn& t) -> Status {
              t.put(key::dentry(2, "x"), Dentry{FileType::regular, 7});
              return {};
            }));
}

TEST_F(MemStoreTest, Guards) {
  auto shared = [](MetaTxn& t) -> Status {
    t.shared(2);
    t.add(key::counter("a"), 1);
    return {};
  };
  auto exclusive = [](MetaTxn& t) -> Status {
    t.exclusive(2);
    t.add(key::counter("b"), 1);
    return {};
  };
  EXPECT_EQ(Code::ok, overtaken(shared, shared));
  EXPECT_EQ(Code::conflict, overtaken(shared, exclusive));
  EXPECT_EQ(Code::conflict, overtaken(exclusive, shared));
  EXPECT_EQ(Code::conflict, overtaken(exclusive, exclusive));
  EXPECT_EQ(Code::conflict, overtaken(shared, [](MetaTxn& t) -> Status {
              t.erase(key::node(2));
              return {};
            }));
}

TEST_F(MemStoreTest, VerbsOvertakeEachOther) {
  auto verbs = [](MetaTxn& t) -> Status {
    t.shared(1);
    t.add(key::counter("n"), 1);
    t.addNlink(1, 1);
    t.touch(1, {3000, 0}, 0);
    t.appendSlice(1, 0, {0, 1, 1, 0, 1});
    t.addDirStat(1, {1, 1, 1});
    t.addQuota(Kind::userQuota, 1, 1, 1);
    t.log("x");
    return {};
  };
  EXPECT_EQ(Code::ok, overtaken(verbs, verbs));
}

TEST_F(MemStoreTest, ReadersKeepTheirSnapshot) {
  EXPECT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) -> Status {
                EXPECT_TRUE(run([](MetaTxn& w) -> Status {
                              w.erase(key::node(2));
                              w.put(key::dentry(1, "new"), Dentry{FileType::regular, 5});
                              return {};
                            }).isOk());
                EXPECT_TRUE(t.node(2).isOk());
                TRY_ASSIGN(auto entries, t.listDir(1, "", 10, false));
                EXPECT_EQ(1u, entries.size());
                return {};
              }).isOk());
}

TEST_F(MemStoreTest, OldVersionsAreForgotten) {
  mem::Database db;
  for (int i = 0; i < 100; ++i) {
    WriteSet writes(mem::kMemRules);
    writes.put(key::counter("x"), Value(int64_t{i}), Change::Base::put);
    writes.put(key::counter("gone"), Value(int64_t{i}), Change::Base::put);
    if (i == 99) writes.erase(key::counter("gone"));
    db.snapshots.insert(db.now);
    auto at = db.now;
    ASSERT_TRUE(db.apply(writes, {}).isOk());
    db.end(at);
  }
  EXPECT_LE(db.records.at(key::counter("x")).size(), 2u);
  EXPECT_EQ(0u, db.records.count(key::counter("gone")));
}

TEST_F(MemStoreTest, DelaysLetOthersIn) {
  setMemFaults(name_, {.delay = std::chrono::microseconds(500), .seed = 3});
  std::vector<std::thread> threads;
  std::atomic<int> conflicts{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int done = 0; done < 10;) {
        auto s = run([](MetaTxn& t) -> Status {
          TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("n")));
          t.put(key::counter("n"), n.value_or(0) + 1);
          return {};
        });
        if (s)
          ++done;
        else
          ++conflicts;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_GT(conflicts, 0);
  EXPECT_TRUE(withRead(*store_, "test", [](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("n")));
                EXPECT_EQ(40, n);
                return {};
              }).isOk());
}

}  // namespace
}  // namespace aquifer::meta
