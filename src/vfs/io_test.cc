// Bytes through the Vfs: handles, unflushed lengths, append, ranges, page-cache rules, locks on close.
#include <mutex>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/metrics.h"
#include "vfs/test_support.h"

namespace aquifer::vfs {
namespace {

using testing::Fs;
using testing::Volume;

struct IoTest : ::testing::Test {
  Volume volume_;
  std::unique_ptr<testing::Client> client_ = volume_.mount();
  Fs fs_{*client_->vfs};
};

struct FakeNotifier : Notifier {
  std::mutex mu;
  std::multiset<Ino> attrs, pages;
  std::multiset<std::pair<Ino, std::string>> entries;
  void invalidateInode(Ino ino, int64_t off, int64_t) override {
    std::lock_guard lock(mu);
    (off < 0 ? attrs : pages).insert(ino);
  }
  void invalidateEntry(Ino parent, std::string_view name) override {
    std::lock_guard lock(mu);
    entries.emplace(parent, std::string(name));
  }
  size_t count(const std::multiset<Ino>& set, Ino ino) {
    std::lock_guard lock(mu);
    return set.count(ino);
  }
};

bool eventually(const std::function<bool()>& ok) {
  for (int i = 0; i < 500 && !ok(); i++) sleepMs(10);
  return ok();
}

TEST_F(IoTest, HandleNumbersTellWhatTheyAre) {
  auto w = fs_.create(1, "f");
  auto r = fs_.open(w.ino, O_RDONLY);
  EXPECT_EQ(w.fh % 2, 0u);
  EXPECT_EQ(r.fh % 2, 1u);
  EXPECT_EQ(fs_.vfs.write(fs_.ctx, r.ino, r.fh, 0, testing::bytesOf("x"), 0).code(), Code::badHandle);
  fs_.close(r);
  fs_.close(w);
  EXPECT_GT(fs_.vfs.nextHandle(), r.fh);
}

TEST_F(IoTest, WrittenBytesAreSeenBeforeTheyAreFlushed) {
  auto f = fs_.create(1, "f");
  ASSERT_TRUE(fs_.write(f, 0, "hello").isOk());
  ASSERT_TRUE(fs_.write(f, 10, "world").isOk());
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 15u);
  auto r = fs_.open(f.ino, O_RDONLY);
  EXPECT_EQ(fs_.read(r, 0, 100), std::string("hello\0\0\0\0\0world", 15));
  fs_.close(r);
  fs_.close(f);
}

TEST_F(IoTest, ReadOnAWriteOnlyHandleWorks) {   // the kernel reads whole pages in write-back mode
  auto f = fs_.create(1, "f", O_WRONLY);
  ASSERT_TRUE(fs_.write(f, 0, "hello").isOk());
  EXPECT_EQ(fs_.read(f, 0, 4096), "hello");
  fs_.close(f);
}

TEST_F(IoTest, TruncateCutsAndGrowsWithZeros) {
  auto f = fs_.create(1, "f");
  ASSERT_TRUE(fs_.write(f, 0, "0123456789").isOk());
  ASSERT_EQ(fs_.truncate(f.ino, 4), Code::ok);
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 4u);
  ASSERT_EQ(fs_.truncate(f.ino, 8), Code::ok);
  EXPECT_EQ(fs_.read(f, 0, 100), std::string("0123\0\0\0\0", 8));
  ASSERT_TRUE(fs_.write(f, 6, "xy!").isOk());
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 9u);
  fs_.close(f);
  EXPECT_EQ(fs_.get(f.ino), std::string("0123\0\0xy!", 9));
  EXPECT_EQ(fs_.truncate(f.ino, 1ull << 57), Code::fileTooBig);
}

TEST_F(IoTest, OpenWithTruncEmptiesTheFile) {
  fs_.put(1, "f", "content");
  auto f = fs_.open(fs_.find(1, "f"), O_WRONLY | O_TRUNC);
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 0u);
  ASSERT_TRUE(fs_.write(f, 0, "n").isOk());
  fs_.close(f);
  EXPECT_EQ(fs_.get(f.ino), "n");
}

TEST_F(IoTest, OpenWithTruncDropsBytesThatWereNotFlushed) {
  auto f = fs_.create(1, "f");
  ASSERT_TRUE(fs_.write(f, 0, "unflushed").isOk());
  auto g = fs_.open(f.ino, O_WRONLY | O_TRUNC);
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 0u);
  fs_.close(g);
  fs_.close(f);
  EXPECT_EQ(fs_.get(f.ino), "");
}

TEST_F(IoTest, FallocateAndCopyRange) {
  auto f = fs_.create(1, "f");
  ASSERT_TRUE(fs_.write(f, 0, std::string(10000, 'a')).isOk());
  ASSERT_TRUE(fs_.vfs.fallocate(fs_.ctx, f.ino, f.fh, meta::kFallocPunchHole | meta::kFallocKeepSize, 4096, 1000).isOk());
  EXPECT_EQ(fs_.read(f, 4090, 12), std::string("aaaaaa\0\0\0\0\0\0", 12));
  ASSERT_TRUE(fs_.vfs.fallocate(fs_.ctx, f.ino, f.fh, 0, 9000, 3000).isOk());
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 12000u);
  auto g = fs_.create(1, "g");
  ASSERT_TRUE(fs_.write(f, 0, "HEAD").isOk());   // unflushed, and yet copied
  auto n = fs_.vfs.copyFileRange(fs_.ctx, f.ino, f.fh, 0, g.ino, g.fh, 100, 6000, 0);
  ASSERT_TRUE(n.isOk());
  EXPECT_EQ(*n, 6000u);
  EXPECT_EQ(fs_.read(g, 98, 8), std::string("\0\0HEADaa", 8));
  EXPECT_EQ(fs_.attr(g.ino).attr.length, 6100u);
  EXPECT_EQ(fs_.vfs.copyFileRange(fs_.ctx, f.ino, f.fh, 0, f.ino, f.fh, 100, 200, 0).code(), Code::invalid);
  EXPECT_EQ(fs_.vfs.copyFileRange(fs_.ctx, f.ino, f.fh, 0, g.ino, g.fh, 0, 10, 1).code(), Code::invalid);
  EXPECT_EQ(fs_.vfs.fallocate(fs_.ctx, f.ino, f.fh, 0, 0, 0).code(), Code::invalid);
  fs_.close(g);
  fs_.close(f);
}

TEST_F(IoTest, UnlinkedOpenFileLivesUntilItsLastClose) {
  auto f = fs_.create(1, "f");
  ASSERT_TRUE(fs_.write(f, 0, "alive").isOk());
  ASSERT_TRUE(fs_.vfs.unlink(fs_.ctx, 1, "f").isOk());
  EXPECT_EQ(fs_.attr(f.ino).attr.nlink, 0u);
  EXPECT_EQ(fs_.read(f, 0, 10), "alive");
  ASSERT_EQ(fs_.truncate(f.ino, 2), Code::ok);
  EXPECT_EQ(fs_.read(f, 0, 10), "al");
  fs_.close(f);
  EXPECT_EQ(fs_.vfs.getattr(fs_.ctx, f.ino, 0).code(), Code::notFound);
}

TEST_F(IoTest, TwoClientsAppendWithoutLoss) {
  auto other = volume_.mount();
  Fs fs2(*other->vfs);
  auto a = fs_.create(1, "log", O_WRONLY | O_APPEND);
  auto b = fs2.open(fs2.find(1, "log"), O_WRONLY | O_APPEND);
  for (int i = 0; i < 20; i++) {
    // Both believe the file ends at 0: the commit knows better.
    ASSERT_TRUE(fs_.write(a, 0, "a" + std::to_string(i) + ";").isOk());
    ASSERT_TRUE(fs2.write(b, 0, "b" + std::to_string(i) + ";").isOk());
    if (i % 3 == 0) {
      ASSERT_TRUE(fs_.vfs.fsync(fs_.ctx, a.ino, a.fh, false).isOk());
    }
    if (i % 5 == 0) {
      ASSERT_TRUE(fs2.vfs.fsync(fs2.ctx, b.ino, b.fh, false).isOk());
    }
  }
  fs_.close(a);
  fs2.close(b);
  auto text = fs_.get(a.ino);
  std::string as, bs;
  for (size_t i = 0; i < text.size();) {
    auto end = text.find(';', i);
    ASSERT_NE(end, std::string::npos);
    (text[i] == 'a' ? as : bs) += text.substr(i, end - i + 1);
    i = end + 1;
  }
  std::string wantA, wantB;
  for (int i = 0; i < 20; i++) {
    wantA += "a" + std::to_string(i) + ";";
    wantB += "b" + std::to_string(i) + ";";
  }
  EXPECT_EQ(as, wantA);
  EXPECT_EQ(bs, wantB);
}

TEST_F(IoTest, MovedAppendDropsTheKernelsPages) {
  FakeNotifier notifier;
  fs_.vfs.setNotifier(&notifier);
  auto other = volume_.mount();
  Fs fs2(*other->vfs);
  auto a = fs_.create(1, "log", O_WRONLY | O_APPEND);
  ASSERT_TRUE(fs_.write(a, 0, "one").isOk());
  ASSERT_TRUE(fs_.vfs.fsync(fs_.ctx, a.ino, a.fh, false).isOk());
  EXPECT_EQ(notifier.count(notifier.pages, a.ino), 0u);
  auto b = fs2.open(a.ino, O_WRONLY | O_APPEND);
  ASSERT_TRUE(fs2.write(b, 0, "two").isOk());
  fs2.close(b);
  ASSERT_TRUE(fs_.write(a, 3, "three").isOk());
  fs_.close(a);
  EXPECT_TRUE(eventually([&] { return notifier.count(notifier.pages, a.ino) == 1; }));
  EXPECT_EQ(fs_.get(a.ino), "onetwothree");
  fs_.vfs.setNotifier(nullptr);
}

// Close to open: what one client closed, another opens with its length and bytes, though it had the file before.
TEST_F(IoTest, OpenSeesWhatAnotherClientClosed) {
  FakeNotifier notifier;
  auto other = volume_.mount();
  Fs fs2(*other->vfs);
  fs2.vfs.setNotifier(&notifier);
  fs_.put(1, "f", "short");
  Ino f = fs2.find(1, "f");
  EXPECT_EQ(fs2.get(f), "short");
  auto w = fs_.open(f, O_RDWR);
  ASSERT_TRUE(fs_.write(w, 0, "SHORTand longer").isOk());
  fs_.close(w);
  size_t told = notifier.count(notifier.attrs, f);
  auto opened = fs2.vfs.open(fs2.ctx, f, O_RDONLY);
  ASSERT_TRUE(opened.isOk());
  EXPECT_FALSE(opened->keepCache);
  // The kernel's attributes are older than what open learnt, and it is told so before it gets the handle.
  EXPECT_EQ(notifier.count(notifier.attrs, f), told + 1);
  EXPECT_EQ(fs2.read({f, opened->fh, O_RDONLY}, 0, 4096), "SHORTand longer");
  fs2.close({f, opened->fh, O_RDONLY});
  fs2.vfs.setNotifier(nullptr);
}

TEST_F(IoTest, PagesAreKeptWhenNothingChanged) {
  FakeNotifier notifier;
  fs_.put(1, "f", "data");
  Ino f = fs_.find(1, "f");
  fs_.vfs.setNotifier(&notifier);
  for (int i = 0; i < 3; i++) {
    fs_.attr(f);
    auto o = fs_.vfs.open(fs_.ctx, f, O_RDONLY);
    ASSERT_TRUE(o.isOk());
    EXPECT_EQ(o->keepCache, i > 0);
    fs_.close({f, o->fh, O_RDONLY});
  }
  EXPECT_EQ(notifier.count(notifier.attrs, f), 0u);
  fs_.vfs.forget(f, 1);   // the kernel dropped its pages
  auto o = fs_.vfs.open(fs_.ctx, f, O_RDONLY);
  ASSERT_TRUE(o.isOk());
  EXPECT_FALSE(o->keepCache);
  fs_.close({f, o->fh, O_RDONLY});
  fs_.vfs.setNotifier(nullptr);
}

TEST_F(IoTest, OpenReaderSeesAnotherClientsTruncateAfterAttributes) {
  auto other = volume_.mount();
  Fs fs2(*other->vfs);
  fs_.put(1, "f", std::string(9000, 'x'));
  Ino f = fs_.find(1, "f");
  auto r = fs_.open(f, O_RDONLY);
  EXPECT_EQ(fs_.read(r, 0, 9000).size(), 9000u);
  ASSERT_EQ(fs2.truncate(f, 10), Code::ok);
  ASSERT_EQ(fs2.truncate(f, 9000), Code::ok);
  EXPECT_EQ(fs_.attr(f).attr.length, 9000u);
  EXPECT_EQ(fs_.read(r, 0, 9000), std::string(10, 'x') + std::string(8990, '\0'));
  fs_.close(r);
}

TEST_F(IoTest, WriterForgetsALengthThatAnotherClientCut) {
  auto other = volume_.mount();
  Fs fs2(*other->vfs);
  auto f = fs_.create(1, "f");
  ASSERT_TRUE(fs_.write(f, 0, std::string(9000, 'x')).isOk());
  ASSERT_TRUE(fs_.vfs.fsync(fs_.ctx, f.ino, f.fh, false).isOk());
  ASSERT_EQ(fs2.truncate(f.ino, 10), Code::ok);
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 10u);
  ASSERT_TRUE(fs_.write(f, 20, "y").isOk());
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 21u);   // unflushed
  ASSERT_TRUE(fs_.vfs.fsync(fs_.ctx, f.ino, f.fh, false).isOk());
  EXPECT_EQ(fs_.attr(f.ino).attr.length, 21u);
  EXPECT_EQ(fs_.read(f, 0, 9000).size(), 21u);
  fs_.close(f);
}

TEST_F(IoTest, TailingReaderSeesGrowthWithoutAsking) {
  auto other = volume_.mount();
  Fs fs2(*other->vfs);
  auto w = fs2.create(1, "log", O_WRONLY | O_APPEND);
  auto r = fs_.open(fs_.find(1, "log"), O_RDONLY);
  std::string got;
  for (int i = 0; i < 5; i++) {
    ASSERT_TRUE(fs2.write(w, 0, "line " + std::to_string(i) + "\n").isOk());
    ASSERT_TRUE(fs2.vfs.fsync(fs2.ctx, w.ino, w.fh, false).isOk());
    got += fs_.read(r, got.size(), 100);
  }
  EXPECT_EQ(got, "line 0\nline 1\nline 2\nline 3\nline 4\n");
  fs_.close(r);
  fs2.close(w);
}

TEST_F(IoTest, UnknownHandlesAreOpenedAgain) {
  fs_.put(1, "f", "before");
  Ino f = fs_.find(1, "f");
  constexpr Handle kOddFh = 1001, kEvenFh = 1002;
  EXPECT_EQ(fs_.read({f, kOddFh, O_RDONLY}, 0, 100), "before");
  EXPECT_EQ(fs_.vfs.write(fs_.ctx, f, kOddFh, 0, testing::bytesOf("x"), O_RDONLY).code(), Code::badHandle);
  ASSERT_TRUE(fs_.write({f, kEvenFh, O_RDWR}, 6, " after").isOk());
  fs_.close({f, kEvenFh, O_RDWR});
  fs_.close({f, kOddFh, O_RDONLY});
  EXPECT_EQ(fs_.get(f), "before after");
  // New numbers stay clear of old ones.
  EXPECT_GT(fs_.vfs.nextHandle(), kEvenFh);
  std::byte b[4];
  EXPECT_EQ(fs_.vfs.read(fs_.ctx, 424242, 2001, 0, b, O_RDONLY).code(), Code::badHandle);
  // Directories as well.
  size_t rows = 0;
  ASSERT_TRUE(fs_.vfs.readdir(fs_.ctx, 1, 3001, 0, false, [&](const DirRow&) { return ++rows, true; }).isOk());
  EXPECT_EQ(rows, 3u);
  ASSERT_TRUE(fs_.vfs.releasedir(fs_.ctx, 1, 3001).isOk());
}

TEST_F(IoTest, AdoptedHandleReportsLostBytes) {
  fs_.put(1, "f", "x");
  Ino f = fs_.find(1, "f");
  fs_.vfs.adoptHandle(502, f, O_RDWR, true);
  EXPECT_EQ(fs_.vfs.fsync(fs_.ctx, f, 502, false).code(), Code::io);
  EXPECT_EQ(fs_.vfs.flush(fs_.ctx, f, 502, 1).code(), Code::io);
  // Other handles of the file are not to blame, and this one still writes.
  ASSERT_TRUE(fs_.write({f, 502, O_RDWR}, 0, "y").isOk());
  EXPECT_EQ(fs_.vfs.release(fs_.ctx, f, 502, O_RDWR, 0, false).code(), Code::io);
  EXPECT_EQ(fs_.get(f), "y");
}

struct FakeRecorder : OpenRecorder {
  std::set<Handle> open;
  std::set<Ino> dirtyInodes;
  void opened(Handle fh, Ino, uint32_t) override { open.insert(fh); }
  void closed(Handle fh) override { open.erase(fh); }
  void dirty(Ino ino, bool on) override { on ? (void)dirtyInodes.insert(ino) : (void)dirtyInodes.erase(ino); }
};

TEST_F(IoTest, RecorderKnowsWhatIsOpenAndDirty) {
  FakeRecorder rec;
  fs_.vfs.setRecorder(&rec);
  auto f = fs_.create(1, "f");
  EXPECT_EQ(rec.open, std::set<Handle>{f.fh});
  ASSERT_TRUE(fs_.write(f, 0, "x").isOk());
  EXPECT_EQ(rec.dirtyInodes, std::set<Ino>{f.ino});
  ASSERT_TRUE(fs_.vfs.fsync(fs_.ctx, f.ino, f.fh, false).isOk());
  EXPECT_TRUE(rec.dirtyInodes.empty());
  auto d = fs_.vfs.opendir(fs_.ctx, 1, 0);
  ASSERT_TRUE(d.isOk());
  EXPECT_EQ(rec.open.size(), 2u);
  ASSERT_TRUE(fs_.vfs.releasedir(fs_.ctx, 1, d->fh).isOk());
  fs_.close(f);
  EXPECT_TRUE(rec.open.empty());
  fs_.vfs.setRecorder(nullptr);
}

TEST_F(IoTest, CloseDropsRecordLocksAndReleaseDropsFlocks) {
  auto f = fs_.create(1, "f");
  auto g = fs_.open(f.ino);
  meta::LockRange lock{1, 10, 0, 9};
  ASSERT_TRUE(fs_.vfs.setlk(fs_.ctx, f.ino, f.fh, 77, lock, false).isOk());
  EXPECT_EQ(fs_.vfs.setlk(fs_.ctx, g.ino, g.fh, 78, lock, false).code(), Code::wouldBlock);
  EXPECT_EQ(fs_.vfs.getlk(fs_.ctx, g.ino, g.fh, 78, lock)->type, 1u);
  ASSERT_TRUE(fs_.vfs.flush(fs_.ctx, f.ino, f.fh, 77).isOk());
  EXPECT_EQ(fs_.vfs.getlk(fs_.ctx, g.ino, g.fh, 78, lock)->type, 2u);
  ASSERT_TRUE(fs_.vfs.flock(fs_.ctx, f.ino, f.fh, 5, meta::LockType::write, false).isOk());
  EXPECT_EQ(fs_.vfs.flock(fs_.ctx, g.ino, g.fh, 6, meta::LockType::read, false).code(), Code::wouldBlock);
  ASSERT_TRUE(fs_.vfs.release(fs_.ctx, f.ino, f.fh, O_RDWR, 0, false).isOk());
  EXPECT_TRUE(fs_.vfs.flock(fs_.ctx, g.ino, g.fh, 6, meta::LockType::read, false).isOk());
  fs_.close(g);
}

TEST_F(IoTest, ParallelWritersReadersAndTruncates) {
  auto f = fs_.create(1, "f");
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&, t] {
      std::string block(4096, static_cast<char>('a' + t));
      while (!stop) EXPECT_TRUE(fs_.write(f, 4096 * t, block).isOk());
    });
  threads.emplace_back([&] {
    while (!stop) {
      auto s = fs_.read(f, 0, 12288);
      // A block is one writer's letter or zeros that a truncate left, never a mixture of letters.
      for (size_t b = 0; b * 4096 < s.size(); b++)
        for (char c : s.substr(b * 4096, 4096)) {
          if (c != 0 && c != static_cast<char>('a' + b)) {
            ADD_FAILURE() << "byte " << int(c) << " in block " << b;
            return;
          }
        }
    }
  });
  for (int i = 0; i < 20; i++) EXPECT_EQ(fs_.truncate(f.ino, i % 2 ? 0 : 6000), Code::ok);
  stop = true;
  for (auto& t : threads) t.join();
  fs_.close(f);
}

TEST_F(IoTest, ManySmallWritesAreCompacted) {
  auto f = fs_.create(1, "f");
  std::string want;
  for (int i = 0; i < 120; i++) {
    ASSERT_TRUE(fs_.write(f, want.size(), "abc").isOk());
    ASSERT_TRUE(fs_.vfs.fsync(fs_.ctx, f.ino, f.fh, false).isOk());
    want += "abc";
  }
  // Reading a chunk of many pieces starts it, if writing has not.
  EXPECT_EQ(fs_.read(f, 0, 1000), want);
  EXPECT_TRUE(eventually([&] { return client_->meta->readChunk(f.ino, 0)->size() < 100; }));
  EXPECT_EQ(fs_.read(f, 0, 1000), want);
  fs_.close(f);
}

TEST_F(IoTest, StatisticsCountOpenInodesAndOperations) {
  auto f = fs_.create(1, "f"), g = fs_.open(f.ino, O_RDONLY);
  ASSERT_TRUE(fs_.write(f, 0, "x").isOk());
  EXPECT_NE(metrics::statsText().find("juicefs_fuse_open_handlers 1\n"), std::string::npos);
  EXPECT_NE(metrics::statsText().find("juicefs_fuse_ops_total_write "), std::string::npos);
  EXPECT_NE(metrics::statsText().find("juicefs_compact_size_histogram_bytes_total "), std::string::npos);
  fs_.close(g);
  fs_.close(f);
  EXPECT_NE(metrics::statsText().find("juicefs_fuse_open_handlers 0\n"), std::string::npos);
}

TEST_F(IoTest, HandleLimitIsAnErrorNotACrash) {
  auto config = Volume::plain();
  config.handleLimit = 2;
  auto client = volume_.mount(config);
  Fs fs(*client->vfs);
  auto a = fs.create(1, "a"), b = fs.create(1, "b");
  EXPECT_EQ(toErrno(fs.vfs.open(fs.ctx, a.ino, O_RDONLY).code()), EMFILE);
  fs.close(b);
  auto c = fs.open(a.ino, O_RDONLY);
  fs.close(c);
  fs.close(a);
}

}  // namespace
}  // namespace aquifer::vfs
