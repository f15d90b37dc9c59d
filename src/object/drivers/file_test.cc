// What is special to objects as files: temporary names, folders, links, what is no object, full disks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "object/drivers/drivers.h"
#include "object/drivers/file_list.h"

namespace aquifer::object {
namespace {

namespace fs = std::filesystem;
using Keys = std::vector<std::string>;

class FileDriver : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/aquifer-file-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = std::string(name) + "/";
    store_ = *openFileDriver({.bucket = folder_});
  }
  void TearDown() override { fs::remove_all(folder_); }

  Status put(std::string_view key, std::string_view bytes = "x") { return store_->put(key, std::as_bytes(std::span(bytes))); }
  Keys list(std::string_view prefix = "", std::string_view after = "", size_t batch = 1000) {
    Keys out;
    const Status listed = listTree(
        folder_, prefix, after,
        [&](const ObjectInfo& info) {
          EXPECT_EQ(info.isDir, info.key.back() == '/');
          out.push_back(info.key);
          return true;
        },
        batch);
    EXPECT_TRUE(listed) << listed.text();
    return out;
  }

  std::string folder_;
  std::unique_ptr<ObjectStore> store_;
};

TEST_F(FileDriver, LeavesNothingButTheObject) {
  ASSERT_TRUE(put("a/b/c", "bytes"));
  EXPECT_EQ(list(), (Keys{"a/", "a/b/", "a/b/c"}));
  struct stat st {};
  ASSERT_EQ(stat((folder_ + "a/b/c").c_str(), &st), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(st.st_mode & 0777, 0666 & ~mask);
  ASSERT_EQ(stat((folder_ + "a").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0777 & ~mask);
}

TEST_F(FileDriver, AFailedPutLeavesNothing) {
  ASSERT_TRUE(put("d/x"));
  EXPECT_FALSE(put("d"));  // a folder stands there
  EXPECT_EQ(list(), (Keys{"d/", "d/x"}));
  EXPECT_FALSE(put("d/x/y"));  // "d/x" is no folder
  EXPECT_EQ(*store_->getAll("d/x"), "x");
}

TEST_F(FileDriver, LongNames) {
  // With ".jfs." and ".tmp.<number>" around it, the whole name would be too long.
  const std::string name(255, 'n');
  ASSERT_TRUE(put("d/" + name, "long"));
  EXPECT_EQ(*store_->getAll("d/" + name), "long");
  EXPECT_TRUE(put("d/" + name + "n").is(Code::nameTooLong));
  EXPECT_EQ(list(), (Keys{"d/", "d/" + name}));
}

TEST_F(FileDriver, KeysThatLeaveTheBucketAreRefused) {
  for (const std::string& key :
       {std::string("../x"), std::string("a/../../x"), std::string(".."), std::string("a/.."), std::string("a\0b", 3)}) {
    EXPECT_TRUE(put(key).is(Code::invalid)) << key;
    EXPECT_TRUE(store_->getAll(key).is(Code::invalid)) << key;
    EXPECT_TRUE(store_->head(key).is(Code::invalid)) << key;
    EXPECT_TRUE(store_->remove(key).is(Code::invalid)) << key;
    EXPECT_TRUE(store_->list(key, "", [](const ObjectInfo&) { return true; }).is(Code::invalid)) << key;
  }
  EXPECT_TRUE(put("").is(Code::invalid));
  EXPECT_TRUE(store_->remove("").is(Code::invalid));
  EXPECT_TRUE(fs::exists(folder_));
}

TEST_F(FileDriver, KeysWithASlashAtTheEndAreFolders) {
  ASSERT_TRUE(put("made/here/"));
  ASSERT_TRUE(put("made/here/"));
  EXPECT_TRUE(fs::is_directory(folder_ + "made/here"));
  const auto info = store_->head("made/here");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->key, "made/here/");
  EXPECT_TRUE(info->isDir);
  EXPECT_EQ(*store_->getAll("made/here/"), "");
  EXPECT_TRUE(store_->remove("made/").is(Code::notEmpty));
  EXPECT_TRUE(store_->remove("made/here/"));
  EXPECT_TRUE(store_->remove("made"));
  EXPECT_EQ(list(), Keys{});
}

TEST_F(FileDriver, BucketWithoutSlashIsABeginningOfNames) {
  auto glued = *openFileDriver({.bucket = "file://" + folder_ + "pre-"});
  ASSERT_TRUE(glued->put("a/b", {}));
  EXPECT_TRUE(fs::exists(folder_ + "pre-a/b"));
  ASSERT_TRUE(put("other"));
  Keys keys;
  ASSERT_TRUE(glued->list("", "", [&](const ObjectInfo& info) {
    keys.push_back(info.key);
    return true;
  }));
  EXPECT_EQ(keys, (Keys{"a/", "a/b"}));
}

// The folder is read again for every batch; nothing may be lost or told twice at the borders.
TEST_F(FileDriver, ListInBatchesOfAnySize) {
  for (int i = 0; i < 40; i++)
    ASSERT_TRUE(put("d" + std::to_string(i % 7) + (i % 2 ? "/" : ".x/") + std::to_string(i * 7919 % 101)));
  for (const char* key : {"a", "z", "d1.a", "d1-", "d10"}) ASSERT_TRUE(put(key));
  const Keys all = list();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& k) { return k.back() != '/'; }), 45);
  for (size_t batch : {1, 2, 3, 5, 8}) {
    EXPECT_EQ(list("", "", batch), all) << batch;
    for (size_t i = 0; i < all.size(); i += 3) {
      EXPECT_EQ(list("", all[i], batch), Keys(all.begin() + static_cast<ptrdiff_t>(i) + 1, all.end())) << all[i];
    }
  }
  EXPECT_EQ(list("d1"), [&] {
    Keys some;
    std::copy_if(all.begin(), all.end(), std::back_inserter(some), [](const auto& k) { return k.starts_with("d1"); });
    return some;
  }());
}

TEST_F(FileDriver, ListSkipsWhatIsNoObject) {
  ASSERT_TRUE(put("a/file"));
  ASSERT_EQ(mkfifo((folder_ + "a/pipe").c_str(), 0600), 0);
  fs::create_symlink("nowhere", folder_ + "a/dangling");
  fs::create_symlink("file", folder_ + "a/link");
  fs::create_directory_symlink("..", folder_ + "a/up");
  fs::create_directory(folder_ + "elsewhere");
  std::ofstream(folder_ + "elsewhere/e") << "123";
  fs::create_directory_symlink("../elsewhere", folder_ + "a/there");
  // Links to files and folders are what they lead to; "a/up/a" is told, but not entered again.
  EXPECT_EQ(list("a/"),
            (Keys{"a/file", "a/link", "a/there/", "a/there/e", "a/up/", "a/up/a/", "a/up/elsewhere/", "a/up/elsewhere/e"}));
}

TEST_F(FileDriver, ListDoesNotHideFoldersThatItMayNotRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  ASSERT_TRUE(put("closed/x"));
  chmod((folder_ + "closed").c_str(), 0);
  EXPECT_TRUE(store_->list("", "", [](const ObjectInfo&) { return true; }).is(Code::accessDenied));
  chmod((folder_ + "closed").c_str(), 0700);
}

TEST_F(FileDriver, ReadersSeeOldOrNewNeverHalf) {
  const std::string a(200'000, 'a'), b(100'000, 'b');
  ASSERT_TRUE(put("k", a));
  std::thread writer([&] {
    for (int i = 0; i < 100; i++) (void)put("k", i % 2 ? a : b);
  });
  std::string out(300'000, '?');
  for (int i = 0; i < 100; i++) {
    const auto n = store_->get("k", 0, std::as_writable_bytes(std::span(out)));
    ASSERT_TRUE(n);
    ASSERT_TRUE(out.substr(0, *n) == a || out.substr(0, *n) == b);
  }
  writer.join();
}

TEST_F(FileDriver, ParallelPutsMakeTheirFoldersOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; i++) failed += !put("p/" + std::to_string(i) + "/q/" + std::to_string(t));
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(FileDriver, FullDisk) {
  const std::string small = folder_ + "small/";
  fs::create_directory(small);
  if (mount("none", small.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "needs a small file system";
  auto store = *openFileDriver({.bucket = small});
  const std::string big(1 << 20, 'x');
  EXPECT_TRUE(store->put("big", std::as_bytes(std::span(big))).is(Code::noSpace));
  EXPECT_TRUE(fs::is_empty(small));  // nor does the attempt take room
  EXPECT_TRUE(store->put("fits", std::as_bytes(std::span(big).first(1000))));
  store.reset();
  EXPECT_EQ(umount(small.c_str()), 0);
}

TEST(FileErrors, Kinds) {
  EXPECT_TRUE(statusOfErrno(ENOENT, "x").is(Code::notFound));
  EXPECT_TRUE(statusOfErrno(ENOSPC, "x").is(Code::noSpace));
  EXPECT_TRUE(statusOfErrno(EDQUOT, "x").is(Code::noSpace));
  EXPECT_TRUE(statusOfErrno(EACCES, "x").is(Code::accessDenied));
  EXPECT_TRUE(statusOfErrno(EMFILE, "x").is(Code::unavailable));
  EXPECT_TRUE(statusOfErrno(EIO, "x").is(Code::io));
  EXPECT_EQ(statusOfErrno(ENOSPC, "write /a").text(), "write /a: no space left on device");
}

}  // namespace
}  // namespace aquifer::object
