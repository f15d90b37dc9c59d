// Threads that meet in one store: no lost update, no double name, no orphan, sums that add up.
#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "store_fixture.h"

namespace aquifer::meta {
namespace {

EVERY_STORE();

void inThreads(int n, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(work, i);
  for (auto& t : threads) t.join();
}

RetryPolicy patient() { return {.maxAttempts = 10'000}; }

TEST_P(StoreTest, ReadModifyWriteLosesNothing) {
  constexpr int kThreads = 4, kRounds = 50;
  put(key::counter("n"), int64_t{0});
  inThreads(kThreads, [&](int) {
    for (int i = 0; i < kRounds; ++i)
      EXPECT_TRUE(withTxn(
                      *store_, {.operation = "test"},
                      [](MetaTxn& t) -> Status {
                        TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("n")));
                        t.put(key::counter("n"), *n + 1);
                        return {};
                      },
                      patient())
                      .isOk());
  });
  EXPECT_EQ(kThreads * kRounds, number(key::counter("n")));
}

TEST_P(StoreTest, OneOfManyCreatesAName) {
  std::atomic<int> won{0}, lost{0};
  put(key::node(1), directory());
  inThreads(6, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      auto s = withTxn(
          *store_, {.operation = "test"},
          [&](MetaTxn& t) -> Status {
            t.shared(1);
            TRY_ASSIGN(auto found, t.lookup(1, "n" + std::to_string(i)));
            if (found) return Code::exists;
            auto ino = static_cast<Ino>(100 + thread * 1000 + i);
            t.insert(key::dentry(1, "n" + std::to_string(i)), Dentry{FileType::regular, ino});
            t.insert(key::node(ino), sampleAttr());
            return {};
          },
          patient());
      if (s)
        ++won;
      else if (s.is(Code::exists))
        ++lost;
    }
  });
  EXPECT_EQ(20, won);
  EXPECT_EQ(100, lost);
  EXPECT_EQ(20u, list({Kind::dentry, 1}).size());
  EXPECT_EQ(21u, list({Kind::node}).size());
}

// Creators hold the directory shared, removers exclusively and look whether it is empty: no entry may outlive its directory.
TEST_P(StoreTest, NoEntryOutlivesItsDirectory) {
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    auto dir = static_cast<Ino>(1000 + round);
    put(key::node(dir), directory());
    inThreads(4, [&](int thread) {
      if (thread == 0) {
        auto s = withTxn(
            *store_, {.operation = "rmdir"},
            [&](MetaTxn& t) -> Status {
              t.exclusive(dir);
              TRY(t.node(dir, kFieldsParent));
              TRY_ASSIGN(bool empty, t.isEmpty(Kind::dentry, dir));
              if (!empty) return Code::notEmpty;
              t.erase(key::node(dir));
              return {};
            },
            patient());
        EXPECT_TRUE(s.isOk() || s.is(Code::notEmpty)) << s.text();
      } else {
        auto s = withTxn(
            *store_, {.operation = "create"},
            [&](MetaTxn& t) -> Status {
              t.shared(dir);
              TRY(t.node(dir, kFieldsParent));
              t.insert(key::dentry(dir, std::to_string(thread)), Dentry{FileType::regular, 7});
              t.addNlink(dir, 1);
              return {};
            },
            patient());
        EXPECT_TRUE(s.isOk() || s.is(Code::notFound)) << s.text();
      }
    });
    bool exists = get(key::node(dir)).has_value();
    auto entries = list({Kind::dentry, dir}).size();
    EXPECT_TRUE(exists ? entries > 0 : entries == 0) << exists << " " << entries;
  }
}

TEST_P(StoreTest, VerbsOfManyThreadsAddUp) {
  constexpr int kThreads = 4, kRounds = 60;
  ASSERT_TRUE(write([](MetaTxn& t) -> Status {
                t.put(key::node(1), directory());
                t.put(key::dirStat(1), DirStat{});
                return {};
              }).isOk());
  inThreads(kThreads, [&](int thread) {
    for (int i = 0; i < kRounds; ++i)
      EXPECT_TRUE(once([&](MetaTxn& t) -> Status {
                    t.shared(1);
                    TRY(t.node(1, kFieldsParent));
                    t.add(key::counter("used"), 3);
                    t.addNlink(1, 1);
                    t.addDirStat(1, {1, 2, 3});
                    t.addQuota(Kind::userQuota, 5, 1, 1);
                    t.touch(1, {2000 + i, 0}, 0);
                    t.appendSlice(1, 0, {0, static_cast<SliceId>(thread * 1000 + i + 1), 1, 0, 1});
                    return {};
                  }).isOk())
          << "verbs never conflict";
  });
  constexpr int64_t kAll = kThreads * kRounds;
  EXPECT_EQ(3 * kAll, number(key::counter("used")));
  EXPECT_EQ(2 + kAll, std::get<Attr>(*get(key::node(1))).nlink);
  EXPECT_EQ(Value(DirStat{kAll, 2 * kAll, 3 * kAll}), get(key::dirStat(1)));
  EXPECT_EQ(Value(Quota{-1, -1, kAll, kAll}), get(key::userQuota(5)));
  auto slices = std::get<SliceList>(*get(key::chunk(1, 0)));
  EXPECT_EQ(static_cast<size_t>(kAll), slices.size());
}

TEST_P(StoreTest, ABadBodySpoilsNoOther) {
  put(key::node(1), directory());
  std::atomic<int> ok{0};
  inThreads(6, [&](int thread) {
    for (int i = 0; i < 30; ++i) {
      auto name = std::to_string(thread) + "." + std::to_string(i);
      auto s = once([&](MetaTxn& t) -> Status {
        if (thread == 0) throw std::runtime_error("a bug");
        if (thread == 1) {
          t.put(key::counter("spoiled"), int64_t{1});
          t.insert(key::node(1), directory());  // is there
          return {};
        }
        t.insert(key::dentry(1, name), Dentry{FileType::regular, 5});
        t.add(key::counter("made"), 1);
        return {};
      });
      if (thread == 0)
        EXPECT_EQ(Code::io, s.code());
      else if (thread == 1)
        EXPECT_EQ(Code::conflict, s.code());
      else if (s)
        ++ok;
    }
  });
  EXPECT_EQ(120, ok);
  EXPECT_EQ(120, number(key::counter("made")));
  EXPECT_EQ(120u, list({Kind::dentry, 1}).size());
  EXPECT_EQ(std::nullopt, get(key::counter("spoiled")));
}

}  // namespace
}  // namespace aquifer::meta
