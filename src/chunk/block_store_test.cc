#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "chunk/cache/block_file.h"
#include "chunk/test_support.h"

namespace aquifer::chunk {
namespace {

using namespace testing;
namespace fs = std::filesystem;

constexpr char kUuid[] = "11111111-2222-3333-4444-555555555555";

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    static int n = 0;
    bucket_ = "store-test-" + std::to_string(n++);
    config_.blockSize = 64 << 10;
    config_.uuid = kUuid;
    config_.cacheDirs = dir_.path() + "/cache";
    config_.freeSpaceRatio = 0.0001;   // whatever the disk of the test has left
    config_.cacheSize = 1ull << 30;
  }
  ~StoreTest() override {
    if (store_) {
      EXPECT_TRUE(store_->close());
    }
  }
  void open() {
    if (store_) {
      EXPECT_TRUE(store_->close());
    }
    store_.reset();
    auto s = openBlockStore(std::make_unique<CountingStore>(memObjects(bucket_), counts_), config_);
    ASSERT_TRUE(s) << s.status().text();
    store_ = *std::move(s);
  }
  void put(meta::SliceId id, const std::string& data, uint8_t tier = 0) {
    auto w = store_->newSlice(tier);
    w->setId(id);
    ASSERT_TRUE(w->writeAt(0, bytesOf(data), {}));
    ASSERT_TRUE(w->finish(static_cast<uint32_t>(data.size())));
  }
  std::string get(meta::SliceId id, uint32_t size, uint32_t off, uint32_t len) {
    std::string out(len, 'U');
    auto s = store_->read(id, size, off, spanOf(out));
    return s ? out : "error: " + s.text();
  }
  std::string root() { return dir_.path() + "/cache/" + kUuid; }
  std::string raw(meta::SliceId id, uint32_t index, uint32_t size) { return root() + "/raw/" + blockKey(id, index, size, false); }
  std::string staged(meta::SliceId id, uint32_t index, uint32_t size) {
    return root() + "/rawstaging/" + blockKey(id, index, size, false);
  }
  static uint64_t fileSize(const std::string& path) {
    struct stat st {};
    return ::stat(path.c_str(), &st) == 0 ? static_cast<uint64_t>(st.st_size) : UINT64_MAX;
  }
  static void flip(const std::string& path, uint64_t at) {
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(static_cast<std::streamoff>(at));
    const char c = static_cast<char>(f.get());
    f.seekp(static_cast<std::streamoff>(at));
    f.put(static_cast<char>(c ^ 1));
  }
  static size_t files(const std::string& path) {
    size_t n = 0;
    std::error_code ignored;
    for (auto& e : fs::recursive_directory_iterator(path, ignored)) n += e.is_regular_file();
    return n;
  }

  TempDir dir_;
  std::string bucket_;
  BlockConfig config_;
  std::shared_ptr<ObjectCounts> counts_ = std::make_shared<ObjectCounts>();
  std::unique_ptr<BlockStore> store_;
};

TEST_F(StoreTest, blocksAreCutAtTheirSize) {
  open();
  const std::string data = pattern(200'000, 1);
  put(5, data);
  EXPECT_EQ(counts_->puts, 4);
  auto objects = memObjects(bucket_);
  EXPECT_TRUE(objects->head("chunks/0/0/5_0_65536"));
  auto last = objects->head("chunks/0/0/5_3_3392");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->size, 3392u);
  EXPECT_EQ(get(5, 200'000, 0, 200'000), data);
  EXPECT_EQ(get(5, 200'000, 65'000, 2'000), data.substr(65'000, 2'000));
  std::string past(2, 'x');
  EXPECT_TRUE(store_->read(5, 200'000, 199'999, spanOf(past)).is(Code::invalid));
}

TEST_F(StoreTest, writingCachesShortBlocksOnly) {
  open();
  put(5, std::string(65'536 + 100, 'a'));
  ASSERT_TRUE(store_->close());
  EXPECT_EQ(fileSize(raw(5, 1, 100)), 104u);
  EXPECT_EQ(fileSize(raw(5, 0, 65'536)), UINT64_MAX);
  EXPECT_EQ(fileSize(root() + "/.lock"), 36u);
  struct stat st {};
  ASSERT_EQ(::stat((root() + "/.lock").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0644u);
  ASSERT_EQ(::stat(raw(5, 1, 100).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat((root() + "/raw/chunks/0/0").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
}

TEST_F(StoreTest, largeWritesAreCachedOnDemand) {
  config_.cacheLargeWrite = true;
  open();
  put(5, std::string(65'536, 'a'));
  ASSERT_TRUE(store_->close());
  EXPECT_EQ(fileSize(raw(5, 0, 65'536)), 65'536u + 8);
}

TEST_F(StoreTest, aReadBlockIsCachedAndServedAfterRestart) {
  open();
  const std::string data = pattern(65'536, 2);
  put(5, data);
  EXPECT_EQ(get(5, 65'536, 0, 100), data.substr(0, 100));   // a read at the block's start is a full get
  EXPECT_EQ(counts_->gets, 1);
  open();
  EXPECT_EQ(get(5, 65'536, 0, 65'536), data);
  EXPECT_EQ(get(5, 65'536, 777, 5), data.substr(777, 5));
  EXPECT_EQ(counts_->gets, 1);
}

TEST_F(StoreTest, whatIsReadToItsEndAndCachedNeedsNoSecondPlaceInMemory) {
  open();
  const std::string data = pattern(256 << 10, 5);
  put(7, data);
  const auto pieces = [&] {   // as a stream reads
    for (uint32_t off = 0; off < data.size(); off += 16 << 10)
      EXPECT_EQ(get(7, data.size(), off, 16 << 10), data.substr(off, 16 << 10)) << off;
  };
  pieces();
  ASSERT_TRUE(eventually([&] { return fs::exists(raw(7, 3, 65536)); }));
  pieces();
  for (int i = 0; i < 300 && store_->buffers().used() > 0; ++i) ::usleep(10'000);   // far less than what idles is kept
  EXPECT_EQ(store_->buffers().used(), 0u);
}

TEST_F(StoreTest, aSmallReadIsARangeAndThenThePrefetchedBlock) {
  open();
  const std::string data = pattern(65'536, 3);
  put(5, data);
  EXPECT_EQ(get(5, 65'536, 20'000, 4096), data.substr(20'000, 4096));
  EXPECT_TRUE(eventually([&] { return fileSize(raw(5, 0, 65'536)) != UINT64_MAX; }));
  EXPECT_EQ(counts_->gets, 2);
  EXPECT_EQ(counts_->rangeGets, 1);
  EXPECT_EQ(get(5, 65'536, 40'000, 4096), data.substr(40'000, 4096));
  EXPECT_EQ(counts_->gets, 2);
}

TEST_F(StoreTest, withoutCacheEveryReadIsARange) {
  config_.cacheSize = 0;
  open();
  const std::string data = pattern(65'536, 3);
  put(5, data);
  EXPECT_EQ(get(5, 65'536, 0, 4096), data.substr(0, 4096));
  EXPECT_EQ(get(5, 65'536, 20'000, 4096), data.substr(20'000, 4096));
  EXPECT_EQ(counts_->gets, 2);
  EXPECT_EQ(counts_->rangeGets, 1);
  EXPECT_EQ(store_->cacheDirList(), "");
}

TEST_F(StoreTest, compressedBlocksAreFetchedWhole) {
  config_.compression = "lz4";
  open();
  const std::string data = std::string(30'000, 'a') + pattern(35'536, 4);
  put(5, data);
  EXPECT_LT(memObjects(bucket_)->head("chunks/0/0/5_0_65536")->size, 40'000u);
  EXPECT_EQ(get(5, 65'536, 20'000, 4096), data.substr(20'000, 4096));
  EXPECT_EQ(counts_->gets, 1);
  EXPECT_EQ(counts_->rangeGets, 0);
}

TEST_F(StoreTest, aDamagedCachedBlockIsFetchedAgain) {
  open();
  const std::string data = pattern(65'536, 5);
  put(5, data);
  EXPECT_EQ(get(5, 65'536, 0, 65'536), data);
  open();
  for (uint64_t at : {uint64_t{0}, uint64_t{40'000}, uint64_t{65'536 + 3}}) {
    // Through the cache file alone: the buffers of the first read are gone with the restart.
    open();
    const int gets = counts_->gets;
    flip(raw(5, 0, 65'536), at);
    EXPECT_EQ(get(5, 65'536, 0, 65'536), data);
    EXPECT_EQ(counts_->gets, gets + 1);
  }
  open();
  const int gets = counts_->gets;
  fs::resize_file(raw(5, 0, 65'536), 1000);
  EXPECT_EQ(get(5, 65'536, 0, 65'536), data);
  EXPECT_EQ(counts_->gets, gets + 1);
}

TEST_F(StoreTest, damageIsFoundInAFileThatIsAlreadyOpen) {
  open();
  const std::string data = pattern(65'536, 5);
  put(5, data);
  EXPECT_EQ(get(5, 65'536, 0, 65'536), data);
  open();
  EXPECT_EQ(get(5, 65'536, 0, 4096), data.substr(0, 4096));
  flip(raw(5, 0, 65'536), 50'000);
  EXPECT_EQ(get(5, 65'536, 0, 4096), data.substr(0, 4096));          // the other piece
  EXPECT_EQ(get(5, 65'536, 49'000, 4096), data.substr(49'000, 4096));
  EXPECT_GT(counts_->gets, 1);
}

TEST_F(StoreTest, aShortObjectIsAnErrorNotGarbage) {
  open();
  ASSERT_TRUE(memObjects(bucket_)->put("chunks/0/0/7_0_1000", bytesOf(std::string(999, 'x'))));
  EXPECT_EQ(get(7, 1000, 0, 1000).substr(0, 6), "error:");
  std::string out(10, 'U');
  EXPECT_TRUE(store_->read(8, 1000, 0, spanOf(out)).is(Code::notFound));
}

TEST_F(StoreTest, concurrentReadersShareOneFetch) {
  open();
  const std::string data = pattern(65'536, 6);
  put(5, data);
  std::atomic<int> waiting{0};
  counts_->beforeGet = [&] {
    // Holds the fetch until every reader has come.
    for (int i = 0; i < 500 && waiting < 8; ++i) ::usleep(1000);
    ::usleep(20'000);
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i)
    readers.emplace_back([&] {
      ++waiting;
      EXPECT_EQ(get(5, 65'536, 0, 65'536), data);
    });
  for (auto& t : readers) t.join();
  EXPECT_EQ(counts_->gets, 1);
}

TEST_F(StoreTest, warmupFillChecksAndEvicts) {
  open();
  const std::string data = pattern(150'000, 7);
  put(5, data);
  CacheStatus before, after, evicted;
  ASSERT_TRUE(store_->check(5, 150'000, &before));
  EXPECT_EQ(before.totalBytes, 150'000u);
  EXPECT_EQ(before.missBytes, 131'072u);   // the short last block was cached by the write
  ASSERT_TRUE(store_->fill(5, 150'000));
  ASSERT_TRUE(store_->check(5, 150'000, &after));
  EXPECT_EQ(after.missBytes, 0u);
  EXPECT_EQ(after.locations[root() + "/"], 150'000u);
  open();
  EXPECT_EQ(files(root() + "/raw"), 3u);
  ASSERT_TRUE(store_->evict(5, 150'000));
  ASSERT_TRUE(store_->check(5, 150'000, &evicted));
  EXPECT_EQ(evicted.missBytes, 150'000u);
  EXPECT_EQ(files(root() + "/raw"), 0u);
  EXPECT_EQ(store_->cacheDirList(), root());
}

TEST_F(StoreTest, removeTakesEverythingAway) {
  open();
  put(5, pattern(150'000, 7));
  ASSERT_TRUE(store_->fill(5, 150'000));
  ASSERT_TRUE(store_->remove(5, 150'000));
  ASSERT_TRUE(store_->remove(5, 150'000));   // and nothing more is fine as well
  ASSERT_TRUE(store_->close());
  EXPECT_EQ(files(root() + "/raw"), 0u);
  EXPECT_FALSE(memObjects(bucket_)->head("chunks/0/0/5_0_65536"));
}

TEST_F(StoreTest, theCacheStaysWithinItsSize) {
  config_.cacheSize = 10 * (65'536 + 4096);
  for (auto policy : {Eviction::twoRandom, Eviction::lru}) {
    config_.eviction = policy;
    open();
    for (meta::SliceId id = 1; id <= 40; ++id) {
      put(id, pattern(65'536, id));
      ASSERT_TRUE(store_->fill(id, 65'536));
    }
    ASSERT_TRUE(store_->close());
    EXPECT_LE(files(root() + "/raw"), 10u);
    EXPECT_GE(files(root() + "/raw"), 5u);
  }
}

TEST_F(StoreTest, evictionNoneKeepsWhatIsThere) {
  config_.eviction = Eviction::none;
  config_.cacheItems = 3;
  open();
  put(1, pattern(100, 1));
  ASSERT_TRUE(store_->close());
  EXPECT_EQ(files(root() + "/raw"), 1u);
}

TEST_F(StoreTest, abortDeletesWhatWasUploaded) {
  open();
  auto w = store_->newSlice(0);
  w->setId(9);
  ASSERT_TRUE(w->writeAt(0, bytesOf(pattern(200'000, 1)), {}));
  w->flushTo(200'000);
  EXPECT_EQ(w->uploadedTo(), 196'608u);
  EXPECT_TRUE(w->writeAt(100, bytesOf("below"), {}).is(Code::invalid));
  w->abort();
  w.reset();
  ASSERT_TRUE(store_->close());
  for (uint32_t i = 0; i < 3; ++i) EXPECT_FALSE(memObjects(bucket_)->head(blockKey(9, i, 65'536, false)));
}

TEST_F(StoreTest, aFailedBlockCancelsItsSiblings) {
  config_.ioRetries = 5;
  open();
  auto w = store_->newSlice(0);
  w->setId(9);
  counts_->failPuts = true;
  ASSERT_TRUE(w->writeAt(0, bytesOf("x"), {}));
  config_.ioRetries = 0;
  std::thread fixer([&] {
    ::usleep(100'000);
    counts_->failPuts = false;
  });
  EXPECT_TRUE(w->finish(1));   // the second attempt, a second later
  fixer.join();
  EXPECT_EQ(counts_->puts, 2);
}

TEST_F(StoreTest, memoryCache) {
  config_.cacheDirs = "memory";
  config_.cacheSize = 3 * 65'536;
  open();
  for (meta::SliceId id = 1; id <= 9; ++id) put(id, pattern(65'536, id));
  for (meta::SliceId id = 1; id <= 9; ++id) EXPECT_EQ(get(id, 65'536, 0, 65'536), pattern(65'536, id));
  store_->dropReadBuffers();
  CacheStatus all;
  for (meta::SliceId id = 1; id <= 9; ++id) ASSERT_TRUE(store_->check(id, 65'536, &all));
  EXPECT_LE(all.locations["memory"], 3u * 65'536);
  EXPECT_GE(all.locations["memory"], 65'536u);
  EXPECT_EQ(store_->cacheDirList(), "memory");
}

TEST_F(StoreTest, anUnusableCacheDirectoryMeansMemory) {
  std::ofstream(dir_.path() + "/file") << "not a directory";
  config_.cacheDirs = dir_.path() + "/file";
  open();
  EXPECT_EQ(store_->cacheDirList(), "memory");
}

TEST_F(StoreTest, severalDirectoriesAndGlobs) {
  fs::create_directories(dir_.path() + "/disk1");
  fs::create_directories(dir_.path() + "/disk2");
  config_.cacheDirs = dir_.path() + "/disk*:" + dir_.path() + "/third/";
  open();
  EXPECT_EQ(store_->cacheDirList(), dir_.path() + "/disk1/" + kUuid + ":" + dir_.path() + "/disk2/" + kUuid + ":" + dir_.path() +
                                        "/third/" + kUuid);
  for (meta::SliceId id = 1; id <= 60; ++id) put(id, pattern(100, id));
  open();
  for (const char* d : {"/disk1", "/disk2", "/third"}) EXPECT_GT(files(dir_.path() + d + "/" + kUuid + "/raw"), 5u);
  for (meta::SliceId id = 1; id <= 60; ++id) EXPECT_EQ(get(id, 100, 0, 100), pattern(100, id));
  EXPECT_EQ(counts_->gets, 0);
}

TEST_F(StoreTest, strayFilesOfTheCacheAreCleanedUp) {
  open();
  put(5, pattern(100, 1));
  ASSERT_TRUE(store_->close());
  const std::string folder = root() + "/raw/chunks/0/7";
  fs::create_directories(folder);
  fs::create_directories(root() + "/raw/chunks/0/8");
  fs::create_directories(root() + "/raw/chunks/0/9");   // just made, by a writer
  fs::last_write_time(root() + "/raw/chunks/0/8", fs::file_time_type::clock::now() - std::chrono::minutes(5));
  std::ofstream(folder + "/7000_0_5.tmp") << "half";
  fs::last_write_time(folder + "/7000_0_5.tmp", fs::file_time_type::clock::now() - std::chrono::minutes(5));
  std::ofstream(root() + "/raw/chunks/0/0/6_0_5.tmp") << "being written";
  open();
  EXPECT_TRUE(eventually([&] { return !fs::exists(root() + "/raw/chunks/0/8"); }));
  EXPECT_TRUE(eventually([&] { return !fs::exists(folder + "/7000_0_5.tmp"); }));
  EXPECT_TRUE(fs::exists(root() + "/raw/chunks/0/0/6_0_5.tmp"));
  EXPECT_TRUE(fs::exists(root() + "/raw/chunks/0/9"));
  EXPECT_EQ(get(5, 100, 0, 100), pattern(100, 1));
  EXPECT_EQ(counts_->gets, 0);
}

// ---- write-back ----

TEST_F(StoreTest, stagedBlocksAreUploadedAndBecomeCachedOnes) {
  config_.writeback = true;
  open();
  const std::string data = pattern(70'000, 8);
  put(5, data);
  EXPECT_TRUE(eventually([&] { return store_->stagedBytes() == 0; }));
  EXPECT_EQ(counts_->puts, 2);
  EXPECT_TRUE(eventually([&] { return files(root() + "/rawstaging") == 0; }));
  EXPECT_EQ(fileSize(raw(5, 0, 65'536)), 65'536u + 8);
  open();
  EXPECT_EQ(get(5, 70'000, 0, 70'000), data);
  EXPECT_EQ(counts_->gets, 0);
}

TEST_F(StoreTest, whatIsStagedSurvivesARestartAndIsUploadedThen) {
  config_.writeback = true;
  config_.uploadDelaySec = 3600;
  open();
  const std::string data = pattern(70'000, 9);
  put(5, data, 2);
  EXPECT_EQ(store_->stagedBytes(), 70'000u);
  EXPECT_EQ(counts_->puts, 0);
  struct stat st {};
  ASSERT_EQ(::stat(staged(5, 1, 4464).c_str(), &st), 0);
  EXPECT_EQ(st.st_nlink, 2u);
  EXPECT_EQ(st.st_size, 4464 + 4 + 20);   // data, one checksum, tier
  EXPECT_EQ(get(5, 70'000, 0, 70'000), data);
  ASSERT_TRUE(store_->evict(5, 70'000));   // evicting is for cached blocks
  EXPECT_EQ(get(5, 70'000, 0, 70'000), data);
  config_.uploadDelaySec = 0;
  open();
  EXPECT_TRUE(eventually([&] { return counts_->puts == 2 && store_->stagedBytes() == 0; }));
  EXPECT_EQ(*memObjects(bucket_)->getAll(blockKey(5, 1, 4464, false)), data.substr(65'536));
}

TEST_F(StoreTest, evictionCannotReachStagedBlocks) {
  config_.writeback = true;
  config_.uploadDelaySec = 3600;
  config_.cacheSize = 5 * (65'536 + 4096);
  open();
  for (meta::SliceId id = 1; id <= 30; ++id) put(id, pattern(65'536, id));
  open();
  EXPECT_TRUE(eventually([&] { return store_->stagedBytes() == 30u * 65'536; }));
  EXPECT_EQ(files(root() + "/rawstaging"), 30u);
  for (meta::SliceId id = 1; id <= 30; ++id) EXPECT_EQ(get(id, 65'536, 0, 65'536), pattern(65'536, id));
  EXPECT_EQ(counts_->gets, 0);
}

TEST_F(StoreTest, deletingASliceDropsItsStagedBlocks) {
  config_.writeback = true;
  config_.uploadDelaySec = 3600;
  open();
  put(5, pattern(70'000, 9));
  ASSERT_TRUE(store_->remove(5, 70'000));
  EXPECT_EQ(store_->stagedBytes(), 0u);
  EXPECT_EQ(files(root() + "/rawstaging"), 0u);
  EXPECT_EQ(files(root() + "/raw"), 0u);
}

TEST_F(StoreTest, aSliceDeletedDuringItsUploadLeavesNoObject) {
  config_.writeback = true;
  std::atomic<bool> in{false}, go{false};
  counts_->beforePut = [&] {
    in = true;
    for (int i = 0; i < 5000 && !go; ++i) ::usleep(1000);
  };
  open();
  put(5, pattern(100, 9));
  ASSERT_TRUE(eventually([&] { return in.load(); }));
  ASSERT_TRUE(store_->remove(5, 100));
  go = true;
  EXPECT_TRUE(eventually([&] { return counts_->removes == 2; }));
  EXPECT_FALSE(memObjects(bucket_)->head(blockKey(5, 0, 100, false)));
}

TEST_F(StoreTest, aDamagedStagedBlockIsNeverUploaded) {
  config_.writeback = true;
  config_.uploadDelaySec = 3600;
  open();
  put(5, pattern(100, 9));
  ASSERT_TRUE(store_->close());
  flip(staged(5, 0, 100), 50);
  config_.uploadDelaySec = 0;
  open();
  ::usleep(1'200'000);
  EXPECT_EQ(counts_->puts, 0);
  EXPECT_TRUE(fs::exists(staged(5, 0, 100)));
  EXPECT_EQ(store_->stagedBytes(), 100u);
}

TEST_F(StoreTest, onlyBlocksBelowTheThresholdAreStagedAndCompactionNever) {
  config_.writeback = true;
  config_.uploadDelaySec = 3600;
  config_.writebackThreshold = 1000;
  open();
  put(5, pattern(1000, 1));
  EXPECT_EQ(counts_->puts, 1);
  put(6, pattern(999, 1));
  EXPECT_EQ(counts_->puts, 1);
  auto w = store_->newSlice(0, false);
  w->setId(7);
  ASSERT_TRUE(w->writeAt(0, bytesOf("compacted"), {}));
  ASSERT_TRUE(w->finish(9));
  EXPECT_EQ(counts_->puts, 2);
}

TEST_F(StoreTest, aStoreThatHangsDoesNotHoldUpWhoWritesToDisk) {
  config_.writeback = true;
  config_.blockSize = 4 << 20;
  config_.bufferSize = 32 << 20;
  config_.cacheSize = 1 << 30;
  std::atomic<bool> go{false};
  counts_->beforePut = [&] {
    for (int i = 0; i < 20'000 && !go; ++i) ::usleep(1000);
  };
  open();
  const std::string data = pattern(4 << 20, 3);
  for (meta::SliceId id = 1; id <= 20; ++id) put(id, data);   // far more than the buffers hold
  EXPECT_EQ(store_->stagedBytes(), 20u << 22);
  EXPECT_TRUE(eventually([&] { return counts_->puts > 4; }));
  EXPECT_LE(store_->buffers().used(), 24u << 20);
  EXPECT_TRUE(store_->buffers().tryGet(4 << 20));
  go = true;
  EXPECT_TRUE(eventually([&] { return store_->stagedBytes() == 0; }));
}

TEST_F(StoreTest, foreignFilesInTheStagingAreaAreIgnored) {
  fs::create_directories(root() + "/rawstaging/chunks/0/9");
  std::ofstream(root() + "/rawstaging/chunks/0/9/5_0_4") << "data";     // belongs to 0/0
  std::ofstream(root() + "/rawstaging/chunks/0/9/readme") << "data";
  config_.writeback = true;
  open();
  ::usleep(800'000);
  EXPECT_EQ(store_->stagedBytes(), 0u);
  EXPECT_EQ(counts_->puts, 0);
  EXPECT_EQ(files(root() + "/rawstaging"), 2u);
}

TEST_F(StoreTest, failedUploadsOfStagedBlocksAreKept) {
  config_.writeback = true;
  open();
  counts_->failPuts = true;
  put(5, pattern(100, 9));
  EXPECT_TRUE(eventually([&] { return counts_->puts >= 2; }));
  EXPECT_EQ(store_->stagedBytes(), 100u);
  counts_->failPuts = false;
  open();
  ASSERT_TRUE(eventually([&] { return memObjects(bucket_)->head(blockKey(5, 0, 100, false)).isOk(); }));
  EXPECT_EQ(*memObjects(bucket_)->getAll(blockKey(5, 0, 100, false)), pattern(100, 9));
  EXPECT_TRUE(eventually([&] { return store_->stagedBytes() == 0; }));
}

// A file system of 8 MiB, where the test may mount one.
class FullDisk : public StoreTest {
 protected:
  void SetUp() override {
    fs::create_directories(dir_.path() + "/small");
    if (::system(("mount -t tmpfs -o size=8m tmpfs " + dir_.path() + "/small 2>/dev/null").c_str()) != 0)
      GTEST_SKIP() << "may not mount";
    mounted_ = true;
    config_.cacheDirs = dir_.path() + "/small/cache";
    config_.blockSize = 1 << 20;
  }
  ~FullDisk() override {
    if (store_) {
      EXPECT_TRUE(store_->close());
    }
    store_.reset();
    if (mounted_) {
      EXPECT_EQ(::system(("umount -l " + dir_.path() + "/small").c_str()), 0);
    }
  }
  bool mounted_ = false;
};

TEST_F(FullDisk, stagingFallsBackToDirectUpload) {
  config_.writeback = true;
  config_.uploadDelaySec = 3600;
  config_.freeSpaceRatio = 0;
  open();
  for (meta::SliceId id = 1; id <= 20; ++id) put(id, pattern(1 << 20, id));
  EXPECT_GT(counts_->puts, 10);
  EXPECT_LT(counts_->puts, 20);
  for (meta::SliceId id = 1; id <= 20; ++id) EXPECT_EQ(get(id, 1 << 20, 0, 1 << 20), pattern(1 << 20, id));
}

TEST_F(FullDisk, theCacheMakesRoomAndNothingIsLost) {
  config_.freeSpaceRatio = 0.3;
  open();
  for (meta::SliceId id = 1; id <= 30; ++id) {
    put(id, pattern(1 << 20, id));
    ASSERT_TRUE(store_->fill(id, 1 << 20));
  }
  for (meta::SliceId id = 1; id <= 30; ++id) EXPECT_EQ(get(id, 1 << 20, 0, 1 << 20), pattern(1 << 20, id));
  ASSERT_TRUE(store_->close());
  EXPECT_LE(files(dir_.path() + "/small/cache"), 8u);
  EXPECT_GE(files(dir_.path() + "/small/cache"), 2u);
}

}  // namespace
}  // namespace aquifer::chunk
