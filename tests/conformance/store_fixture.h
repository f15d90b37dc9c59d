// What the suites of the metadata store share: each test runs on every store. A new store adds one name here.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "meta/store/mem/mem_store.h"
#include "meta/store/redis/test_server.h"
#include "meta/store/registry.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {

class StoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/aquifer-store-XXXXXX";
    dir_ = ::mkdtemp(pattern);
    static int number = 0;
    memName_ = "conformance" + std::to_string(++number);
    if (isRedis()) {
      auto* server = redis::TestServer::shared();
      if (!server) GTEST_SKIP() << "redis-server is missing or does not start";
      url_ = server->freshUrl();
    } else {
      url_ = isMem() ? "mem://" + memName_ : "sqlite3://" + dir_ + "/meta.db";
    }
    store_ = open();
    ASSERT_TRUE(store_);
    ASSERT_TRUE(store_->prepareSchema(true).isOk());
  }
  void TearDown() override {
    if (store_ && isRedis()) {
      EXPECT_TRUE(store_->drop().isOk());
    }
    store_.reset();
    forgetMemStore(memName_);
    std::filesystem::remove_all(dir_);
  }
  bool isMem() const { return std::string(GetParam()) == "mem"; }
  bool isRedis() const { return std::string(GetParam()) == "redis"; }
  std::unique_ptr<MetaStore> open() {
    auto store = openStore(url_, {.create = true});
    EXPECT_TRUE(store.isOk()) << store.status().text();
    return store ? std::move(*store) : nullptr;
  }
  Status write(const TxnBody& body) { return withTxn(*store_, {.operation = "test"}, body); }
  Status once(const TxnBody& body) { return store_->run(body, {.operation = "test"}); }
  void put(const Key& key, const Value& value) {
    auto s = write([&](MetaTxn& t) -> Status {
      t.put(key, value);
      return {};
    });
    ASSERT_TRUE(s.isOk()) << s.text();
  }
  std::optional<Value> get(const Key& key) {
    std::optional<Value> out;
    auto s = withRead(*store_, "test", [&](MetaTxn& t) -> Status {
      TRY_ASSIGN(out, t.get(key));
      return {};
    });
    EXPECT_TRUE(s.isOk()) << s.text();
    return out;
  }
  using Records = std::vector<std::pair<Key, Value>>;
  Records list(const Range& range) {
    Records out;
    auto s = withRead(*store_, "test", [&](MetaTxn& t) -> Status {
      out.clear();
      return t.list(range, [&](const Key& k, const Value& v) {
        out.emplace_back(k, v);
        return true;
      });
    });
    EXPECT_TRUE(s.isOk()) << s.text();
    return out;
  }
  int64_t number(const Key& key) {
    auto v = get(key);
    return v ? std::get<int64_t>(*v) : INT64_MIN;
  }

  std::string dir_, memName_, url_;
  std::unique_ptr<MetaStore> store_;
};

inline constexpr const char* kStores[] = {"mem", "sqlite3", "redis"};
#define EVERY_STORE() \
  INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, ::testing::ValuesIn(kStores), [](auto& info) { return std::string(info.param); })

inline Attr sampleAttr() {
  Attr a;
  a.flags = 33;
  a.type = FileType::regular;
  a.mode = 07755;
  a.uid = 4'000'000'000u;  // above 2^31
  a.gid = 4'294'967'295u;
  a.rdev = 0x10203;
  a.atime = {1'700'000'000, 999'999'999};
  a.mtime = {-1, 1};  // before 1970, and not a whole microsecond
  a.ctime = {-62'135'596'800, 123'456'789};
  a.nlink = 7;
  a.length = kMaxFileSize - 1;
  a.parent = kTrashIno + 5;
  a.accessAcl = 3;
  a.defaultAcl = 9;
  a.tier = 2;
  return a;
}

inline Attr directory() {
  Attr a;
  a.type = FileType::directory;
  a.mode = 0755;
  a.nlink = 2;
  a.length = 4096;
  a.mtime = a.ctime = {1000, 0};
  return a;
}

}  // namespace aquifer::meta
