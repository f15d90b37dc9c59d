// Several clients of one volume at once.
#include <atomic>
#include <mutex>
#include <thread>

#include "meta/ops/testing.h"

namespace aquifer::meta {

class ConcurrentTest : public MetaTest {
 protected:
  void SetUp() override {
    MetaTest::SetUp();
    if (!mem_.empty()) setMemFaults(mem_, {.delay = std::chrono::microseconds(300), .seed = 3});
    other_ = another();
  }
  void TearDown() override {
    AQ_EXPECT_OK(other_->closeSession());
    other_.reset();
    MetaTest::TearDown();
  }
  // Runs the bodies side by side.
  static void together(std::vector<std::function<void()>> bodies) {
    std::vector<std::thread> threads;
    std::atomic<size_t> ready{0};
    for (auto& body : bodies)
      threads.emplace_back([&] {
        ready++;
        while (ready < bodies.size()) std::this_thread::yield();
        body();
      });
    for (auto& t : threads) t.join();
  }
  std::unique_ptr<Meta> other_;
};
INSTANTIATE_TEST_SUITE_P(Stores, ConcurrentTest, ::testing::Values(Backend::mem, Backend::sqlite, Backend::redis), backendName);

TEST_P(ConcurrentTest, CrossingDirectoryMovesNeverCutATreeOff) {
  for (int round = 0; round < 20; round++) {
    auto base = mkdir(1, "r" + std::to_string(round));
    auto a = mkdir(base, "a"), c = mkdir(a, "c"), b = mkdir(base, "b"), d = mkdir(b, "d"), e = mkdir(d, "e");
    Code first{}, second{};
    together({[&] { first = meta_->rename(root, base, "a", e, "a", 0).code(); },
              [&] { second = other_->rename(root, b, "d", c, "d", 0).code(); }});
    EXPECT_TRUE((first == Code::ok) != (second == Code::ok)) << int(first) << " " << int(second);
    EXPECT_TRUE(first == Code::ok || first == Code::invalid);
    EXPECT_TRUE(second == Code::ok || second == Code::invalid);
  }
}

TEST_P(ConcurrentTest, OneDirectoryTakesManyCreators) {
  auto d = mkdir(1, "hot");
  std::atomic<int> created{0}, removed{0};
  auto work = [&](Meta* m, int who) {
    for (int i = 0; i < 60; i++) {
      auto name = std::to_string(i % 20) + (i % 3 == 0 ? "" : "_" + std::to_string(who));
      auto made = m->mknod(root, d, name, i % 5 == 0 ? FileType::directory : FileType::regular, 0755, 0, 0);
      if (made) created++;
      EXPECT_TRUE(made.isOk() || made.is(Code::exists)) << textOf(made);
      if (i % 2 == 0) continue;
      auto gone = i % 5 == 0 ? m->rmdir(root, d, name) : m->unlink(root, d, name);
      if (gone) removed++;
      EXPECT_TRUE(gone.isOk() || gone.is(Code::notFound) || gone.is(Code::notPermitted) || gone.is(Code::notDirectory)) << textOf(gone);
    }
  };
  together({[&] { work(meta_.get(), 0); }, [&] { work(meta_.get(), 1); }, [&] { work(other_.get(), 2); }, [&] { work(other_.get(), 3); }});
  EXPECT_EQ(meta_->readdir(root, d, "", 1000, false)->size(), static_cast<size_t>(created - removed));
}

TEST_P(ConcurrentTest, RmdirAndCreateExcludeEachOther) {
  for (int round = 0; round < 40; round++) {
    auto d = mkdir(1, "d");
    Code rm{}, mk{};
    together({[&] { rm = meta_->rmdir(root, 1, "d").code(); },
              [&] { mk = other_->mknod(root, d, "x", FileType::regular, 0644, 0, 0).code(); }});
    if (mk == Code::ok) {
      EXPECT_EQ(rm, Code::notEmpty);
      AQ_ASSERT_OK(meta_->unlink(root, d, "x"));
      AQ_ASSERT_OK(meta_->rmdir(root, 1, "d"));
    } else {
      EXPECT_EQ(mk, Code::notFound);
      EXPECT_EQ(rm, Code::ok);
    }
  }
}

TEST_P(ConcurrentTest, AppendsNeverOverlap) {
  auto f = mk(1, "f");
  std::mutex mu;
  std::map<uint64_t, uint32_t> places;
  auto work = [&](Meta* m, uint32_t len) {
    for (int i = 0; i < 50; i++) {
      auto id = m->newSliceId();
      ASSERT_TRUE(id.isOk());
      auto w = m->append(f, *id, len, 0, len, Time{1, 0});
      ASSERT_TRUE(w.isOk()) << textOf(w);
      std::lock_guard lock(mu);
      EXPECT_TRUE(places.emplace(w->offset, len).second);
    }
  };
  together({[&] { work(meta_.get(), 10); }, [&] { work(other_.get(), 700); }, [&] { work(other_.get(), 33); }});
  uint64_t end = 0;
  for (auto& [off, len] : places) {
    EXPECT_EQ(off, end);
    end = off + len;
  }
  EXPECT_EQ(attrOf(f).length, end);
}

TEST_P(ConcurrentTest, LinksAndUnlinksOfOneFile) {
  auto f = mk(1, "f");
  auto work = [&](Meta* m, int who) {
    for (int i = 0; i < 40; i++) {
      auto name = "l" + std::to_string(who);
      auto l = m->link(root, f, 1, name);
      EXPECT_TRUE(l.isOk()) << textOf(l);
      auto u = m->unlink(root, 1, name);
      EXPECT_TRUE(u.isOk()) << textOf(u);
    }
  };
  together({[&] { work(meta_.get(), 0); }, [&] { work(other_.get(), 1); }});
  EXPECT_EQ(attrOf(f).nlink, 1u);
}

TEST_P(ConcurrentTest, RandomStorm) {
  auto storm = [&](Meta* m, unsigned seed) {
    unsigned state = seed;
    auto dice = [&](unsigned n) {
      state = state * 1'103'515'245 + 12'345;
      return (state >> 16) % n;
    };
    std::vector<Ino> dirs{1};
    for (int i = 0; i < 250; i++) {
      auto dir = dirs[dice(static_cast<unsigned>(dirs.size()))], to = dirs[dice(static_cast<unsigned>(dirs.size()))];
      auto name = std::string(1, static_cast<char>('a' + dice(6))), name2 = std::string(1, static_cast<char>('a' + dice(6)));
      Code code = Code::ok;
      switch (dice(8)) {
        case 0: {
          auto e = m->mknod(root, dir, name, FileType::directory, 0755, 0, 0);
          if (e && dirs.size() < 12) dirs.push_back(e->ino);
          code = e.code();
          break;
        }
        case 1: code = m->mknod(root, dir, name, FileType::regular, 0644, 0, 0).code(); break;
        case 2: code = m->unlink(root, dir, name).code(); break;
        case 3: code = m->rmdir(root, dir, name).code(); break;
        case 4: code = m->rename(root, dir, name, to, name2, 0).code(); break;
        case 5: code = m->rename(root, dir, name, to, name2, kRenameExchange).code(); break;
        case 6:
          if (auto e = m->lookup(root, dir, name)) code = m->link(root, e->ino, to, name2).code();
          break;
        default:
          if (auto e = m->lookup(root, dir, name); e && e->attr.isRegular()) {
            auto id = m->newSliceId();
            code = m->append(e->ino, *id, 5000, 0, 5000, Time{1, 0}).code();
          }
      }
      EXPECT_NE(code, Code::io);
      EXPECT_LT(static_cast<int>(code), 1000);
    }
  };
  together({[&] { storm(meta_.get(), 1); }, [&] { storm(meta_.get(), 2); }, [&] { storm(other_.get(), 3); }, [&] { storm(other_.get(), 4); }});
}

}  // namespace aquifer::meta
