// What every object store has to do, run on each driver and on the layers above.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/random.h"
#include "object/object_store.h"
#include "object/test_keys.h"

namespace aquifer::object {
namespace {

using test::kRsaPem;

// A server of the S3 protocol that somebody has started: AQUIFER_TEST_S3=http://host:port/bucket and AQUIFER_TEST_S3_KEYS=access:secret
// (tests/object/s3_servers.py does, with one server after the other). Every test has a prefix of its own there.
StoreConfig s3At(const char* storage) {
  const char* bucket = std::getenv("AQUIFER_TEST_S3");
  const char* keys = std::getenv("AQUIFER_TEST_S3_KEYS");
  const std::string both = keys;
  return {.storage = storage,
          .bucket = bucket,
          .accessKey = both.substr(0, both.find(':')),
          .secretKey = both.substr(both.find(':') + 1),
          .volumeName = "t" + randomText(10, kAlphanumeric)};
}

struct Kind {
  const char* name;
  std::function<StoreConfig(const std::string& folder)> config;
};

StoreConfig fileIn(const std::string& folder) { return {.storage = "file", .bucket = folder + "/objects/"}; }

const Kind kKinds[] = {
    {"file", fileIn},
    {"mem", [](const std::string& folder) { return StoreConfig{.storage = "mem", .bucket = folder}; }},
    {"file_prefixed",
     [](const std::string& folder) {
       auto c = fileIn(folder);
       c.volumeName = "vol";
       return c;
     }},
    {"file_sharded",
     [](const std::string& folder) {
       return StoreConfig{.storage = "file", .bucket = folder + "/s%d/", .shards = 3, .volumeName = "vol"};
     }},
    {"mem_sharded",
     [](const std::string& folder) { return StoreConfig{.storage = "mem", .bucket = folder + "%d", .shards = 5}; }},
    {"file_encrypted",
     [](const std::string& folder) {
       auto c = fileIn(folder);
       c.volumeName = "vol";
       c.encryptKeyPem = kRsaPem;
       return c;
     }},
    {"file_encrypted_sm2",
     [](const std::string& folder) {
       auto c = fileIn(folder);
       c.encryptKeyPem = test::kSm2Pem;
       c.encryptAlgo = "sm4gcm";
       return c;
     }},
    {"mem_encrypted_chacha",
     [](const std::string& folder) {
       return StoreConfig{.storage = "mem", .bucket = folder, .encryptKeyPem = kRsaPem, .encryptAlgo = "chacha20-rsa"};
     }},
};

const Kind kServerKinds[] = {
    {"s3", [](const std::string&) { return s3At("s3"); }},
    {"minio", [](const std::string&) { return s3At("minio"); }},
    {"s3_encrypted",
     [](const std::string&) {
       auto c = s3At("s3");
       c.encryptKeyPem = kRsaPem;
       return c;
     }},
};

class Behaviour : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    char name[] = "/tmp/aquifer-object-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    config_ = GetParam().config(folder_);
    auto opened = openObjectStore(config_);
    ASSERT_TRUE(opened) << opened.status().text();
    store_ = *std::move(opened);
    ASSERT_TRUE(store_->create());
  }
  void TearDown() override {
    if (store_ && overNetwork()) {
      for (const auto& key : keys()) EXPECT_TRUE(store_->remove(key));
    }
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  bool overNetwork() const { return config_.storage != "file" && config_.storage != "mem"; }
  bool encrypted() const { return !config_.encryptKeyPem.empty(); }
  Status put(std::string_view key, std::string_view bytes) { return store_->put(key, std::as_bytes(std::span(bytes))); }
  Result<std::string> get(std::string_view key, uint64_t off, size_t size) {
    std::string out(size, '?');
    TRY_ASSIGN(const size_t n, store_->get(key, off, std::as_writable_bytes(std::span(out))));
    out.resize(n);
    return out;
  }
  std::vector<std::string> keys(std::string_view prefix = "", std::string_view after = "", size_t limit = SIZE_MAX) {
    std::vector<std::string> out;
    const Status listed = store_->list(prefix, after, [&](const ObjectInfo& info) {
      if (!info.isDir) out.push_back(info.key);
      return out.size() < limit;
    });
    EXPECT_TRUE(listed) << listed.text();
    return out;
  }

  std::string folder_;
  StoreConfig config_;
  std::unique_ptr<ObjectStore> store_;
};

using Keys = std::vector<std::string>;

TEST_P(Behaviour, GetReturnsWhatWasPut) {
  ASSERT_TRUE(put("chunks/0/0/1_0_5", "hello"));
  EXPECT_EQ(*get("chunks/0/0/1_0_5", 0, 5), "hello");
  EXPECT_EQ(*get("chunks/0/0/1_0_5", 0, 100), "hello");
  EXPECT_EQ(*store_->getAll("chunks/0/0/1_0_5"), "hello");
}

TEST_P(Behaviour, GetOfARange) {
  ASSERT_TRUE(put("a", "0123456789"));
  EXPECT_EQ(*get("a", 3, 4), "3456");
  EXPECT_EQ(*get("a", 8, 100), "89");
  EXPECT_EQ(*get("a", 0, 3), "012");
  EXPECT_EQ(*get("a", 10, 5), "");
  EXPECT_EQ(*get("a", 11, 5), "");
  EXPECT_EQ(*get("a", uint64_t{1} << 20, 5), "");
  EXPECT_EQ(*get("a", 2, 0), "");
}

// Asked for a little less than there is: an encrypted store must not mistake the beginning for the whole.
TEST_P(Behaviour, GetOfTheBeginning) {
  const std::string bytes(1000, 'b');
  ASSERT_TRUE(put("a", bytes));
  for (size_t size = 980; size <= 1003; size++) EXPECT_EQ(get("a", 0, size)->size(), std::min<size_t>(size, 1000)) << size;
  EXPECT_EQ(get("a", UINT32_MAX, 10)->size(), 0u);
  for (uint64_t off : {uint64_t{INT64_MAX} - 5, uint64_t{INT64_MAX} + 1, UINT64_MAX})
    EXPECT_EQ(get("a", off, 10)->size(), 0u) << off;
  EXPECT_EQ(store_->getAll("a", UINT64_MAX)->size(), 1000u);
}

TEST_P(Behaviour, MissingObjects) {
  EXPECT_TRUE(get("none", 0, 1).is(Code::notFound));
  EXPECT_TRUE(store_->getAll("none").is(Code::notFound));
  EXPECT_TRUE(store_->head("none").is(Code::notFound));
  EXPECT_TRUE(get("no/folder/either", 0, 1).is(Code::notFound));
  EXPECT_TRUE(store_->remove("none"));
  EXPECT_TRUE(store_->remove("no/folder/either"));
  EXPECT_TRUE(store_->remove("folder/"));
}

TEST_P(Behaviour, PutReplaces) {
  ASSERT_TRUE(put("a", "a longer object"));
  ASSERT_TRUE(put("a", "short"));
  EXPECT_EQ(*store_->getAll("a"), "short");
  EXPECT_EQ(keys(), Keys{"a"});
}

TEST_P(Behaviour, EmptyObjects) {
  ASSERT_TRUE(put("empty", ""));
  EXPECT_EQ(*get("empty", 0, 10), "");
  EXPECT_EQ(*store_->getAll("empty"), "");
  EXPECT_EQ(keys(), Keys{"empty"});
}

TEST_P(Behaviour, LargeObjects) {
  std::string bytes(3'000'001, '\0');
  randomBytes(bytes.data(), bytes.size());
  ASSERT_TRUE(put("big", bytes));
  EXPECT_EQ(*get("big", 0, bytes.size()), bytes);
  EXPECT_EQ(*get("big", 1'234'567, 1000), bytes.substr(1'234'567, 1000));
  EXPECT_TRUE(store_->getAll("big", 1000).is(Code::tooBig));
}

TEST_P(Behaviour, RemoveThenGet) {
  ASSERT_TRUE(put("x/a", "1"));
  ASSERT_TRUE(put("x/b", "2"));
  ASSERT_TRUE(store_->remove("x/a"));
  EXPECT_TRUE(store_->head("x/a").is(Code::notFound));
  EXPECT_EQ(keys(), Keys{"x/b"});
}

TEST_P(Behaviour, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++)
    threads.emplace_back([this, t] {
      for (int i = 0; i < 8; i++) {
        const std::string key = "t" + std::to_string(t) + "/" + std::to_string(i), bytes(static_cast<size_t>(1000 + 5000 * i + t), static_cast<char>('a' + t));
        EXPECT_TRUE(put(key, bytes));
        EXPECT_EQ(*get(key, 0, bytes.size() + 10), bytes);
        if (i % 2) { EXPECT_TRUE(store_->remove(key)); }
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(keys().size(), 32u);
}

TEST_P(Behaviour, RemoveMany) {
  std::vector<std::string> gone{"never/there", "d/with <&> signs", "d/\xc3\xbc"};
  ASSERT_TRUE(put("d/with <&> signs", "x"));
  ASSERT_TRUE(put("d/\xc3\xbc", "x"));
  for (int i = 0; i < 30; i++) {
    gone.push_back("m/" + std::to_string(i));
    ASSERT_TRUE(put(gone.back(), "x"));
  }
  ASSERT_TRUE(put("m/x", "stays"));
  const Status done = store_->removeMany(gone);
  EXPECT_TRUE(done) << done.text();
  EXPECT_EQ(keys(), Keys{"m/x"});
  EXPECT_TRUE(store_->removeMany({}));
}

TEST_P(Behaviour, Head) {
  const int64_t before = time(nullptr) - 2;
  ASSERT_TRUE(put("dir/name", "12345"));
  const auto info = store_->head("dir/name");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->key, "dir/name");
  EXPECT_FALSE(info->isDir);
  EXPECT_GE(info->mtime, before);
  if (encrypted())
    EXPECT_GT(info->size, 5u);
  else
    EXPECT_EQ(info->size, 5u);
}

TEST_P(Behaviour, ListIsInByteOrderWithSlashes) {
  // '.' and '-' sort before '/', '0' after it; upper case before lower case.
  const char* last = overNetwork() ? "b\xc3\xbf" : "b\xff";  // S3 takes UTF-8 only
  for (const char* key : {"a/b", "a.b", "a-b", "a0b", "a/c/d", "A", "a/c.d", "a/c", last, "b~"}) {
    // A file cannot be both a file and a folder.
    if (std::string_view(key) == "a/c") continue;
    ASSERT_TRUE(put(key, "x"));
  }
  EXPECT_EQ(keys(), (Keys{"A", "a-b", "a.b", "a/b", "a/c.d", "a/c/d", "a0b", "b~", last}));
}

TEST_P(Behaviour, ListOfAPrefix) {
  for (const char* key : {"chunks/0/0/1", "chunks/0/0/10", "chunks/0/1/2", "chunksx", "meta/dump", "testing"})
    ASSERT_TRUE(put(key, "x"));
  EXPECT_EQ(keys("chunks/"), (Keys{"chunks/0/0/1", "chunks/0/0/10", "chunks/0/1/2"}));
  EXPECT_EQ(keys("chunks"), (Keys{"chunks/0/0/1", "chunks/0/0/10", "chunks/0/1/2", "chunksx"}));
  EXPECT_EQ(keys("chunks/0/0/1"), (Keys{"chunks/0/0/1", "chunks/0/0/10"}));
  EXPECT_EQ(keys("chunks/0/1/"), Keys{"chunks/0/1/2"});
  EXPECT_EQ(keys("nothing/here/"), Keys{});
  EXPECT_EQ(keys("testing"), Keys{"testing"});
  EXPECT_EQ(keys("testing/"), Keys{});
}

TEST_P(Behaviour, ListAfterAKey) {
  for (const char* key : {"a/1", "a/2", "a/3", "a.b", "b/1/x", "b/2/y", "c"}) ASSERT_TRUE(put(key, "x"));
  const Keys all = keys();
  ASSERT_EQ(all, (Keys{"a.b", "a/1", "a/2", "a/3", "b/1/x", "b/2/y", "c"}));
  // After every key that there is, and after some that there are not.
  for (size_t i = 0; i < all.size(); i++)
    EXPECT_EQ(keys("", all[i]), Keys(all.begin() + static_cast<ptrdiff_t>(i) + 1, all.end())) << all[i];
  EXPECT_EQ(keys("", "a/"), (Keys{"a/1", "a/2", "a/3", "b/1/x", "b/2/y", "c"}));
  EXPECT_EQ(keys("", "a/2x"), (Keys{"a/3", "b/1/x", "b/2/y", "c"}));
  EXPECT_EQ(keys("", "b/1"), (Keys{"b/1/x", "b/2/y", "c"}));
  EXPECT_EQ(keys("", "b/1/"), (Keys{"b/1/x", "b/2/y", "c"}));
  EXPECT_EQ(keys("", "zzz"), Keys{});
  EXPECT_EQ(keys("a/", "a/1"), (Keys{"a/2", "a/3"}));
  EXPECT_EQ(keys("b/", "a/1"), (Keys{"b/1/x", "b/2/y"}));
  EXPECT_EQ(keys("a/", "b"), Keys{});
}

TEST_P(Behaviour, ListStopsWhenTold) {
  for (int i = 0; i < 20; i++) ASSERT_TRUE(put("k/" + std::to_string(10 + i), "x"));
  EXPECT_EQ(keys("", "", 3), (Keys{"k/10", "k/11", "k/12"}));
  // Pages put together make the whole.
  Keys paged;
  for (Keys page = keys("", "", 7); !page.empty(); page = keys("", paged.back(), 7))
    paged.insert(paged.end(), page.begin(), page.end());
  EXPECT_EQ(paged, keys());
}

TEST_P(Behaviour, ListAllowsRemovalOfWhatItShows) {
  for (int i = 0; i < 50; i++) ASSERT_TRUE(put("d" + std::to_string(i % 3) + "/" + std::to_string(i), "x"));
  size_t seen = 0;
  ASSERT_TRUE(store_->list("", "", [&](const ObjectInfo& info) {
    if (!info.isDir) {
      seen++;
      EXPECT_TRUE(store_->remove(info.key));
    }
    return true;
  }));
  EXPECT_EQ(seen, 50u);
  EXPECT_EQ(keys(), Keys{});
}

TEST_P(Behaviour, SpecialKeys) {
  const char* unable = std::getenv("AQUIFER_TEST_S3_REFUSES");  // what the server that stands there cannot store
  size_t stored = 0;
  for (const std::string key :
       {"with space", "percent%41", "ünïcode/名前", "quote'\"", "back\\slash", "new\nline", "..a", "a..", "..."}) {
    if (overNetwork() && unable && key.find_first_of(unable) != std::string::npos) continue;
    const Status done = put(key, key);
    ASSERT_TRUE(done) << key << ": " << done.text();
    EXPECT_EQ(*store_->getAll(key), key);
    stored++;
  }
  EXPECT_EQ(keys().size(), stored);
}

TEST_P(Behaviour, Probe) {
  EXPECT_TRUE(probeStore(*store_));
  size_t left = 0;
  ASSERT_TRUE(store_->list("", "", [&](const ObjectInfo& info) {
    if (!info.isDir) left++;
    return true;
  }));
  EXPECT_EQ(left, 0u);
}

// Without a server its tests do not exist; tests/object/s3_servers.py says which server it could not have.
std::vector<Kind> kinds() {
  std::vector<Kind> all(std::begin(kKinds), std::end(kKinds));
  if (std::getenv("AQUIFER_TEST_S3") && std::getenv("AQUIFER_TEST_S3_KEYS")) all.insert(all.end(), std::begin(kServerKinds), std::end(kServerKinds));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Stores, Behaviour, testing::ValuesIn(kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace aquifer::object
