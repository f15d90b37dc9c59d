#include "chunk/file_data.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "chunk/test_support.h"

namespace aquifer::chunk {
namespace {

using namespace testing;

struct Volume {
  explicit Volume(BlockConfig config = {}, const std::string& bucket = "") {
    static int n = 0;
    config.uuid = "11111111-2222-3333-4444-555555555555";
    auto objects = std::make_unique<CountingStore>(memObjects(bucket.empty() ? "file-data-" + std::to_string(n++) : bucket), counts);
    auto opened = openBlockStore(std::move(objects), config);
    EXPECT_TRUE(opened) << opened.status().text();
    blocks = *std::move(opened);
    data = makeFileData(*blocks, meta);
  }
  ~Volume() {
    data.reset();
    EXPECT_TRUE(blocks->close());
  }
  std::string read(meta::Ino ino, uint64_t off, size_t n, uint64_t length) {
    std::string out(n, 'U');
    auto got = data->reader(ino)->read(off, spanOf(out), length, {});
    EXPECT_TRUE(got) << got.status().text();
    out.resize(got ? *got : 0);
    return out;
  }
  FakeMeta meta;
  std::shared_ptr<ObjectCounts> counts = std::make_shared<ObjectCounts>();
  std::unique_ptr<BlockStore> blocks;
  std::unique_ptr<FileData> data;
};

BlockConfig noCache(uint64_t blockSize = 64 << 10) {
  BlockConfig c;
  c.blockSize = blockSize;
  c.cacheSize = 0;
  return c;
}

TEST(FileData, smallFileCostsOnePutAndOneCommit) {
  Volume v(noCache(4 << 20));
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("hello"), false, {}));
  EXPECT_TRUE(w->dirty());
  EXPECT_EQ(w->length(), 5u);
  ASSERT_TRUE(w->flush({}));
  EXPECT_FALSE(w->dirty());
  EXPECT_EQ(v.counts->puts, 1);
  EXPECT_EQ(v.meta.commits, 1);
  EXPECT_EQ(v.meta.length(7), 5u);
  EXPECT_EQ(v.read(7, 0, 100, 5), "hello");
  EXPECT_EQ(v.read(7, 1, 2, 5), "el");
  EXPECT_EQ(v.read(7, 5, 2, 5), "");
}

TEST(FileData, readerSeesUnflushedBytesOfItsHost) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(10, bytesOf("world"), false, {}));
  EXPECT_EQ(v.read(7, 0, 15, 15), std::string(10, '\0') + "world");
  // Over what is stored, newest on top, and nothing goes to storage for it.
  ASSERT_TRUE(w->flush({}));
  EXPECT_EQ(v.counts->puts, 1);
  ASSERT_TRUE(w->write(1000, bytesOf("xyz"), false, {}));
  ASSERT_TRUE(w->write(8, bytesOf("abcd"), false, {}));
  ASSERT_TRUE(w->write(999, bytesOf("ZZ"), false, {}));
  EXPECT_EQ(v.read(7, 7, 8, 1003), std::string(1, '\0') + "abcdrld");
  EXPECT_EQ(v.read(7, 998, 5, 1003), std::string(1, '\0') + "ZZyz");
  EXPECT_TRUE(w->dirty());
  EXPECT_EQ(v.counts->puts, 1);
}

TEST(FileData, whatLeftMemoryIsReadBackFromStorage) {
  Volume v(noCache());   // blocks of 64 KiB
  auto w = v.data->writer(7, 0, 0);
  const std::string all = pattern(200'000, 3);
  ASSERT_TRUE(w->write(0, bytesOf(all), false, {}));   // three blocks are uploaded at once
  EXPECT_EQ(v.read(7, 100, 150'000, all.size()), all.substr(100, 150'000));
  EXPECT_EQ(v.read(7, 199'000, 5000, all.size()), all.substr(199'000));
}

TEST(FileData, appendedBytesAreReadAfterTheirCommit) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("one."), true, {}));
  EXPECT_TRUE(w->appending());
  EXPECT_EQ(v.read(7, 0, 4, 4), "one.");
  EXPECT_FALSE(w->appending());
}

// Blocks of eight bytes that hold a version each; a reader never sees an older one than it saw before, flushes or not.
TEST(FileData, readersNeverGoBackInTime) {
  Volume v(noCache());
  constexpr size_t kBlocks = 2000;
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf(std::string(kBlocks * 8, '\0')), false, {}));
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::thread writer([&] {
    std::mt19937 random(1);
    for (uint64_t version = 1; version < 20'000; ++version) {
      const size_t first = random() % kBlocks, n = std::min<size_t>(1 + random() % 40, kBlocks - first);
      std::string bytes;
      for (size_t i = 0; i < n; ++i) bytes.append(reinterpret_cast<const char*>(&version), 8);
      if (!w->write(first * 8, bytesOf(bytes), false, {})) ++failures;
      if (version % 500 == 0 && !w->flush({})) ++failures;
    }
    stop = true;
  });
  std::vector<std::thread> readers;
  for (unsigned seed : {2u, 3u})
    readers.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::vector<uint64_t> seen(kBlocks);
      auto reader = v.data->reader(7);
      while (!stop) {
        const size_t first = random() % kBlocks, n = std::min<size_t>(1 + random() % 300, kBlocks - first);
        std::string out(n * 8, 'U');
        auto got = reader->read(first * 8, spanOf(out), kBlocks * 8, {});
        if (!got || *got != out.size()) ++failures;
        for (size_t i = 0; i < n; ++i) {
          uint64_t version;
          std::memcpy(&version, out.data() + i * 8, 8);
          if (version < seen[first + i] || version >= 20'000) ++failures;
          seen[first + i] = version;
        }
      }
    });
  writer.join();
  for (auto& r : readers) r.join();
  EXPECT_EQ(failures, 0);
}

TEST(FileData, overwritesInTheTailStayOneSlice) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("aaaaaaaaaa"), false, {}));
  ASSERT_TRUE(w->write(5, bytesOf("bb"), false, {}));
  ASSERT_TRUE(w->write(10, bytesOf("cc"), false, {}));
  ASSERT_TRUE(w->flush({}));
  EXPECT_EQ(v.meta.commits, 1);
  EXPECT_EQ(v.read(7, 0, 12, 12), "aaaaabbaaacc");
}

TEST(FileData, aYoungerSliceIsNeverWrittenUnder) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("aaaa"), false, {}));
  ASSERT_TRUE(w->write(4 << 10, bytesOf("zz"), false, {}));
  ASSERT_TRUE(w->write((4 << 10) - 1, bytesOf("yyyy"), false, {}));  // overlaps the second slice
  ASSERT_TRUE(w->write(4, bytesOf("bbbb"), false, {}));              // may still join the first
  ASSERT_TRUE(w->flush({}));
  EXPECT_EQ(v.read(7, 0, 8, 5000), "aaaabbbb");
  EXPECT_EQ(v.read(7, (4 << 10) - 1, 4, 5000), "yyyy");
}

TEST(FileData, appendsGoWhereTheCommitPutsThem) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("one."), true, {}));
  ASSERT_TRUE(w->write(0, bytesOf("two."), true, {}));
  EXPECT_EQ(w->length(), 8u);
  // Another client appends meanwhile.
  ASSERT_TRUE(v.meta.commitAppend(7, 999, 6, 0, 6, {}));
  ASSERT_TRUE(w->flush({}));
  EXPECT_EQ(v.meta.commits, 2);
  EXPECT_EQ(v.meta.movedCount, 1);
  EXPECT_EQ(w->length(), 14u);
  EXPECT_EQ(v.read(7, 6, 8, 14), "one.two.");
}

TEST(FileData, appendsAndPlacedWritesKeepTheirOrder) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("0123456789"), false, {}));
  ASSERT_TRUE(w->write(0, bytesOf("AAAA"), true, {}));         // at 10
  ASSERT_TRUE(w->write(10, bytesOf("bb"), false, {}));         // over its head: would fit behind the first slice
  ASSERT_TRUE(w->write(0, bytesOf("CC"), true, {}));           // at 14
  ASSERT_TRUE(w->flush({}));
  EXPECT_EQ(v.read(7, 0, 32, 16), "0123456789bbAACC");
  EXPECT_EQ(v.meta.movedCount, 0);
}

TEST(FileData, aRecordIsNeverSplit) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  // Appends of an odd size: the slice that would pass 64 MiB starts anew instead.
  const std::string record = pattern(60'000, 1);
  size_t total = 0;
  while (total <= meta::kChunkSize + record.size()) {
    ASSERT_TRUE(w->write(0, bytesOf(record), true, {}));
    total += record.size();
  }
  ASSERT_TRUE(w->flush({}));
  EXPECT_EQ(v.meta.length(7), total);
  for (uint32_t c = 0; c < 2; ++c)
    for (auto& s : v.meta.chunk(7, c)) EXPECT_EQ(s.size % record.size(), 0u);
}

TEST(FileData, errorsOfTheCommitAreStickyAndKeepTheirErrno) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  v.meta.fail = Code::noSpace;
  ASSERT_TRUE(w->write(0, bytesOf("data"), false, {}));
  EXPECT_TRUE(w->flush({}).is(Code::noSpace));
  v.meta.fail = Code::ok;
  EXPECT_TRUE(w->flush({}).is(Code::noSpace));
  EXPECT_TRUE(w->write(0, bytesOf("data"), false, {}).is(Code::noSpace));
  EXPECT_TRUE(v.data->writer(7, 0, 0)->flush({}).is(Code::noSpace));
  EXPECT_TRUE(eventually([&] { return v.counts->removes == 1; }));
  w.reset();
  EXPECT_TRUE(v.data->writer(7, 0, 0)->flush({}));
}

TEST(FileData, anUnclearCommitKeepsTheBlocks) {
  Volume v(noCache());
  {
    auto w = v.data->writer(7, 0, 0);
    v.meta.fail = Code::io;
    ASSERT_TRUE(w->write(0, bytesOf("data"), false, {}));
    EXPECT_TRUE(w->flush({}).is(Code::io));
  }
  v.data.reset();
  ASSERT_TRUE(v.blocks->close());
  EXPECT_EQ(v.counts->removes, 0);
  v.data = makeFileData(*v.blocks, v.meta);
}

TEST(FileData, failedUploadsAreReportedAndCleanedUp) {
  auto c = noCache();
  c.ioRetries = 0;
  Volume v(c);
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf(pattern(100'000, 3)), false, {}));
  EXPECT_TRUE(eventually([&] { return v.counts->puts == 1; }));   // the first block is full
  v.counts->failPuts = true;
  EXPECT_TRUE(w->flush({}).is(Code::io));
  EXPECT_TRUE(eventually([&] { return v.counts->removes == 1; }));
  EXPECT_EQ(v.meta.commits, 0);
}

TEST(FileData, aFlushCanBeInterruptedWhileTheStoreIsAway) {
  auto c = noCache();
  c.putTimeoutMs = 0;   // no patience with interrupts
  Volume v(c);
  v.counts->failPuts = true;
  auto other = v.data->writer(8, 0, 0);
  ASSERT_TRUE(other->write(0, bytesOf("noticed"), false, {}));
  // The background finds out first: the slice is a second old.
  ASSERT_TRUE(eventually([&] { return v.blocks->uploadsFail(); }));
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("kept"), false, {}));
  EXPECT_TRUE(w->flush([] { return true; }).is(Code::interrupted));
  EXPECT_TRUE(w->dirty());
  v.counts->failPuts = false;
  EXPECT_TRUE(w->flush({}));   // nothing was lost by giving up the wait
  EXPECT_EQ(v.read(7, 0, 4, 4), "kept");
}

TEST(FileData, writersGoOnWhileACommitFails) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  v.meta.fail = Code::io;
  std::atomic<bool> stop{false};
  std::thread flusher([&] {
    while (!stop) (void)w->flush({}).isOk();
  });
  Status s;
  for (uint64_t i = 0; i < 100'000 && s; ++i) s = w->write(i % 64 * 8192, bytesOf("data"), false, {});
  EXPECT_TRUE(s.is(Code::io));
  stop = true;
  flusher.join();
}

TEST(FileData, oldSlicesAreCommittedInTheBackground) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("idle"), false, {}));
  EXPECT_TRUE(eventually([&] { return v.meta.commits == 1; }));
  EXPECT_FALSE(w->dirty());
}

TEST(FileData, aDirtyWriterOutlivesItsHandles) {
  Volume v(noCache());
  v.data->writer(7, 0, 0)->write(0, bytesOf("kept"), false, {}).isOk();
  ASSERT_TRUE(v.data->existingWriter(7));
  ASSERT_TRUE(v.data->flush(7, {}));
  EXPECT_FALSE(v.data->existingWriter(7));
  EXPECT_EQ(v.read(7, 0, 4, 4), "kept");
}

TEST(FileData, manySlicesStayBounded) {
  Volume v(noCache());
  auto w = v.data->writer(7, 0, 0);
  for (uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE(w->write((i * 7919 % 3000) * 8192, bytesOf("record"), false, {}));
  ASSERT_TRUE(w->flush({}));
  EXPECT_EQ(v.read(7, 5 * 8192, 6, 1ull << 30), "record");
}

TEST(FileData, writersBlockAtTheMemoryBoundAndGoOn) {
  auto c = noCache(4 << 20);
  c.bufferSize = 32 << 20;
  Volume v(c);
  auto w = v.data->writer(7, 0, 0);
  const std::string piece = pattern(1 << 20, 9);
  size_t most = 0;
  for (uint64_t i = 0; i < 160; ++i) {
    // Every other megabyte: nothing can be joined, each piece has a buffer of its own.
    ASSERT_TRUE(w->write(i * (2 << 20), bytesOf(piece), false, {}));
    most = std::max(most, v.data->usedBuffers());
  }
  ASSERT_TRUE(w->flush({}));
  EXPECT_LE(most, 32u << 20);
  EXPECT_EQ(v.read(7, 100 * (2 << 20), 1 << 20, 1ull << 30), piece);
  EXPECT_EQ(v.data->usedBuffers(), 0u);
}

TEST(FileData, aBlockThatWasCompactedAwayIsFoundInTheFreshList) {
  auto c = noCache();
  c.ioRetries = 0;   // only the immediate second look
  Volume v(c);
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("old and new are the same"), false, {}));
  ASSERT_TRUE(w->flush({}));
  EXPECT_EQ(v.read(7, 0, 3, 24), "old");
  auto out = v.blocks->newSlice(0, false);
  out->setId(555);
  ASSERT_TRUE(out->writeAt(0, bytesOf("old and new are the same"), {}));
  ASSERT_TRUE(out->finish(24));
  auto old = v.meta.chunk(7, 0)[0];
  v.meta.chunk(7, 0) = {{0, 555, 24, 0, 24}};
  ASSERT_TRUE(v.blocks->remove(old.id, old.size));
  EXPECT_EQ(v.read(7, 0, 24, 24), "old and new are the same");
}

TEST(FileData, readsRetryAndThenSayEio) {
  auto c = noCache();
  c.ioRetries = 2;
  Volume v(c);
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf("data"), false, {}));
  ASSERT_TRUE(w->flush({}));
  v.counts->failGets = true;
  std::string out(4, '\0');
  auto r = v.data->reader(7);
  EXPECT_TRUE(r->read(0, spanOf(out), 4, {}).is(Code::io));
  EXPECT_TRUE(r->read(0, spanOf(out), 4, [] { return true; }).is(Code::interrupted));
  v.counts->failGets = false;
  EXPECT_EQ(v.read(7, 0, 4, 4), "data");
}

TEST(FileData, sequentialReadsFetchEachBlockOnce) {
  Volume v(noCache());
  const std::string body = pattern(2 << 20, 5);
  auto w = v.data->writer(7, 0, 0);
  ASSERT_TRUE(w->write(0, bytesOf(body), false, {}));
  ASSERT_TRUE(w->flush({}));
  v.counts->gets = 0;
  auto r = v.data->reader(7);
  std::string got;
  for (size_t at = 0; at < body.size(); at += 8192) {
    std::string part(8192, '\0');
    ASSERT_TRUE(r->read(at, spanOf(part), body.size(), {}));
    got += part;
  }
  EXPECT_EQ(got, body);
  // 32 blocks of 64 KiB; the first pieces may go out before the window opens.
  EXPECT_LE(v.counts->gets, 32 + 8);
}

// Random operations against a plain string, over several block sizes and caches, with two handles and parallel files.
struct Model {
  uint64_t blockSize;
  const char* compression;
  bool memoryCache;
};
class FileModel : public ::testing::TestWithParam<Model> {};

TEST_P(FileModel, randomOperations) {
  auto p = GetParam();
  auto c = noCache(p.blockSize);
  c.compression = p.compression;
  if (p.memoryCache) {
    c.cacheDirs = "memory";
    c.cacheSize = 1 << 20;
  }
  Volume v(c);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  auto run = [&](meta::Ino ino, unsigned s) {
    std::mt19937 rng(s);
    std::string model;
    auto w = v.data->writer(ino, 0, 0);
    auto r = v.data->reader(ino);
    // Around a chunk border, so that splitting is met; the file is sparse up to there.
    const uint64_t base = rng() % 2 ? meta::kChunkSize - 300'000 : 0;
    auto at = [&] { return rng() % 600'000; };
    for (int step = 0; step < 400; ++step) {
      const auto op = rng() % 100;
      const size_t n = rng() % 8 == 0 ? rng() % 200'000 + 1 : rng() % 5000 + 1;
      if (op < 50) {
        const uint64_t off = rng() % 3 == 0 ? model.size() : at();
        const auto bytes = pattern(n, rng());
        ASSERT_TRUE(w->write(base + off, bytesOf(bytes), false, {}));
        if (model.size() < off + n) model.resize(off + n);
        model.replace(off, n, bytes);
      } else if (op < 58 && (base == 0 || !model.empty())) {
        const auto bytes = pattern(n, rng());
        ASSERT_TRUE(w->write(0, bytesOf(bytes), true, {}));
        model += bytes;
      } else if (op < 85) {
        const uint64_t off = at();
        std::string got(n, 'U');
        auto count = r->read(base + off, spanOf(got), model.empty() ? 0 : base + model.size(), {});
        ASSERT_TRUE(count) << count.status().text();
        got.resize(*count);
        ASSERT_EQ(got, off < model.size() ? model.substr(off, n) : "") << "step " << step << " off " << off << " n " << n;
      } else if (op < 93) {
        ASSERT_TRUE(w->flush({}));
      } else if (!model.empty()) {
        ASSERT_TRUE(w->flush({}));
        const uint64_t length = rng() % (model.size() + 1000);
        v.meta.truncate(ino, base + length);
        v.data->invalidate(ino, 0, UINT64_MAX);
        w->truncated(base + length);
        model.resize(length);
      }
      ASSERT_EQ(w->length(), model.empty() && v.meta.length(ino) == 0 && !w->dirty() ? 0 : base + model.size());
    }
    ASSERT_TRUE(w->flush({}));
    std::string got(model.size(), 'U');
    if (!model.empty()) {
      ASSERT_TRUE(r->read(base, spanOf(got), base + model.size(), {}));
    }
    ASSERT_TRUE(got == model);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(run, 100 + i, seed + i);
  for (auto& t : threads) t.join();
}

INSTANTIATE_TEST_SUITE_P(All, FileModel,
                         ::testing::Values(Model{64 << 10, "none", false}, Model{64 << 10, "lz4", true}, Model{256 << 10, "zstd", true},
                                           Model{4 << 20, "none", true}));

}  // namespace
}  // namespace aquifer::chunk
