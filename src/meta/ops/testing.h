// For the tests of this folder: a fresh volume on each kind of store, and an audit that counts everything again from the
// bare records and compares it with what is stored.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "meta/ops/meta.h"
#include "meta/store/mem/mem_store.h"
#include "meta/store/redis/test_server.h"
#include "meta/store/registry.h"

namespace aquifer::meta {

enum class Backend { mem, memFaults, sqlite, redis };

inline std::string backendName(const ::testing::TestParamInfo<Backend>& info) {
  switch (info.param) {
    case Backend::mem: return "mem";
    case Backend::memFaults: return "memFaults";
    case Backend::redis: return "redis";
    default: return "sqlite";
  }
}

#define AQ_EXPECT_OK(expr)                                                 \
  do {                                                                     \
    auto&& aq_result = (expr);                                             \
    EXPECT_TRUE(aq_result.isOk()) << #expr << ": " << ::aquifer::meta::textOf(aq_result); \
  } while (0)
#define AQ_ASSERT_OK(expr)                                                 \
  do {                                                                     \
    auto&& aq_result = (expr);                                             \
    ASSERT_TRUE(aq_result.isOk()) << #expr << ": " << ::aquifer::meta::textOf(aq_result); \
  } while (0)

inline std::string textOf(const Status& s) { return s.text(); }
template <class T>
std::string textOf(const Result<T>& r) {
  return r.status().text();
}

class MetaTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    static std::atomic<int> number{0};
    auto unique = std::to_string(getpid()) + "_" + std::to_string(number++);
    if (GetParam() == Backend::sqlite) {
      dir_ = std::filesystem::temp_directory_path() / ("aquifer_meta_" + unique);
      std::filesystem::create_directories(dir_);
      url_ = "sqlite3://" + (dir_ / "meta.db").string();
    } else if (GetParam() == Backend::redis) {
      auto* server = redis::TestServer::shared();
      if (!server) GTEST_SKIP() << "redis-server is missing or does not start";
      url_ = server->freshUrl();
    } else {
      url_ = "mem://" + unique;
      mem_ = unique;
      if (GetParam() == Backend::memFaults) setMemFaults(mem_, {.conflict = 0.15, .maybeCommitted = 0.15, .seed = 7});
    }
    format_.name = "test";
    format_.uuid = "6a8a5a8e-6d5c-4f4c-9d3f-3d6b8f7f0c11";
    format_.bucket = "/tmp/";
    format_.trashDays = 0;
    tweak(format_);
    meta_ = make();
    AQ_ASSERT_OK(meta_->init(format_, false));
    AQ_ASSERT_OK(meta_->openSession());
  }

  void TearDown() override {
    if (meta_) {
      if (auditAtEnd_) audit();
      AQ_EXPECT_OK(meta_->closeSession());
      if (GetParam() == Backend::redis) AQ_EXPECT_OK(meta_->store().drop());
    }
    meta_.reset();
    if (!mem_.empty()) forgetMemStore(mem_);
    if (!dir_.empty()) std::filesystem::remove_all(dir_);
  }

  virtual void tweak(Format&) {}

  std::unique_ptr<Meta> make(MetaConfig config = quiet()) {
    auto store = openStore(url_, {.create = true});
    EXPECT_TRUE(store.isOk()) << textOf(store);
    return makeMeta(*std::move(store), config);
  }
  // Another client of the same volume, with a session.
  std::unique_ptr<Meta> another(MetaConfig config = quiet()) {
    auto m = make(config);
    AQ_EXPECT_OK(m->load(true));
    AQ_EXPECT_OK(m->openSession());
    return m;
  }
  static MetaConfig quiet() {
    MetaConfig config;
    config.noBgJob = true;
    config.heartbeat = std::chrono::minutes(10);
    config.version = "1.4.2";
    config.skipDirMtime = std::chrono::nanoseconds(0);
    return config;
  }
  void setFormat(const std::function<void(Format&)>& change) {
    change(format_);
    AQ_ASSERT_OK(meta_->init(format_, false));
  }

  // ---- short forms ----
  const Context root = Context::root();
  static Context user(uint32_t uid, uint32_t gid = 0) {
    Context c;
    c.uid = uid;
    c.gid = gid == 0 ? uid : gid;
    c.checkPermission = true;
    return c;
  }
  Ino mk(Ino parent, const std::string& name, FileType type = FileType::regular, uint16_t mode = 0644) {
    auto e = meta_->mknod(root, parent, name, type, mode, 0, 0, type == FileType::symlink ? "target" : "");
    EXPECT_TRUE(e.isOk()) << name << ": " << textOf(e);
    return e ? e->ino : 0;
  }
  Ino mkdir(Ino parent, const std::string& name, uint16_t mode = 0755) { return mk(parent, name, FileType::directory, mode); }
  Attr attrOf(Ino ino) {
    auto a = meta_->getattr(root, ino);
    EXPECT_TRUE(a.isOk()) << ino << ": " << textOf(a);
    return a ? *a : Attr();
  }
  Ino inoOf(Ino parent, const std::string& name) {
    auto e = meta_->lookup(root, parent, name);
    return e ? e->ino : 0;
  }
  // `len` new bytes at `off` (within one chunk).
  Slice put(Ino ino, uint64_t off, uint32_t len) {
    auto id = meta_->newSliceId();
    EXPECT_TRUE(id.isOk());
    Slice s{static_cast<uint32_t>(off % kChunkSize), *id, len, 0, len};
    auto w = meta_->write(ino, static_cast<uint32_t>(off / kChunkSize), s, Time{1000, 5});
    EXPECT_TRUE(w.isOk()) << textOf(w);
    return s;
  }
  template <class T>
  std::optional<T> raw(const Key& key) {
    std::optional<T> out;
    AQ_EXPECT_OK(withRead(meta_->store(), "test", [&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(out, tx.find<T>(key));
      return {};
    }));
    return out;
  }
  size_t count(Kind kind) {
    size_t n = 0;
    AQ_EXPECT_OK(withRead(meta_->store(), "test", [&](MetaTxn& tx) {
      n = 0;
      return tx.list({.kind = kind}, [&](const Key&, const Value&) { return ++n, true; });
    }));
    return n;
  }
  int64_t usedSpace() { return raw<int64_t>(key::counter(counter::kUsedSpace)).value_or(0); }
  int64_t usedInodes() { return raw<int64_t>(key::counter(counter::kTotalInodes)).value_or(0); }

  void audit();
  bool auditAtEnd_ = true;

  Format format_;
  std::string url_, mem_;
  std::filesystem::path dir_;
  std::unique_ptr<Meta> meta_;

 private:
  static Status withRead(MetaStore& store, std::string_view operation, const TxnBody& body);
};

}  // namespace aquifer::meta
