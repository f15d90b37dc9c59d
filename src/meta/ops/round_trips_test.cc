// What operations cost in round trips on a store across a network (docs/round_trips.md), counted on Redis. Cold: by a client that
// has seen nothing yet. Warm: after it has looked the names up, as the kernel makes every client do.
#include "meta/ops/testing.h"
#include "meta/store/redis/redis_store.h"

namespace aquifer::meta {
namespace {

class RoundTripsTest : public MetaTest {
 protected:
  using Work = std::function<Status(Meta&, const std::string& name)>;

  void SetUp() override {
    MetaTest::SetUp();
    if (!meta_) return;
    dir_ = mkdir(kRootIno, "dir");
    other_ = mkdir(kRootIno, "other");
  }
  // A client without a past, its ids at hand.
  std::unique_ptr<Meta> newcomer() {
    auto m = another();
    AQ_EXPECT_OK(m->allocateIno());
    AQ_EXPECT_OK(m->newSliceId());
    return m;
  }
  uint64_t trips(Meta& m, const std::string& name, Code outcome, const Work& work) {
    auto before = redisRoundTrips();
    auto s = work(m, name);
    EXPECT_EQ(outcome, s.code()) << s.text();
    return redisRoundTrips() - before;
  }
  // `make` prepares what `work` finds under a name, by another client.
  void expect(const char* what, uint64_t cold, uint64_t warm, const std::function<void(const std::string&)>& make,
              const Work& work, Code outcome = Code::ok) {
    SCOPED_TRACE(what);
    auto m = newcomer();
    auto name = std::string(what) + "-cold";
    make(name);
    EXPECT_EQ(cold, trips(*m, name, outcome, work)) << "cold";
    name = std::string(what) + "-warm";
    make(name);
    AQ_EXPECT_OK(m->lookup(root, kRootIno, "dir"));
    AQ_EXPECT_OK(m->lookup(root, kRootIno, "other"));
    (void)m->lookup(root, dir_, name);
    (void)m->lookup(root, other_, name);
    EXPECT_EQ(warm, trips(*m, name, outcome, work)) << "warm";
    AQ_EXPECT_OK(m->closeSession());
  }
  static void nothing(const std::string&) {}
  Work creates(FileType type) {
    return [=, this](Meta& m, const std::string& n) {
      return m.mknod(root, dir_, n, type, 0755, 0, 0, type == FileType::symlink ? "t" : "", nullptr, 0).status();
    };
  }
  void removals();

  Ino dir_ = 0, other_ = 0, made_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, RoundTripsTest, ::testing::Values(Backend::redis), backendName);

TEST_P(RoundTripsTest, changesOfNames) {
  auto file = [&](const std::string& n) { made_ = mk(dir_, n); };
  expect("create", 2, 1, nothing, creates(FileType::regular));
  expect("mkdir", 2, 1, nothing, creates(FileType::directory));
  expect("symlink", 2, 1, nothing, creates(FileType::symlink));
  expect("create of what exists", 1, 1, file, creates(FileType::regular), Code::exists);
  expect("rename", 2, 1, file, [&](Meta& m, auto& n) { return m.rename(root, dir_, n, other_, n, 0).status(); });
  auto both = [&](const std::string& n) {
    mk(dir_, n);
    put(mk(other_, n), 0, 100);
  };
  expect("rename over a file", 2, 1, both, [&](Meta& m, auto& n) { return m.rename(root, dir_, n, other_, n, 0).status(); });
  expect(
      "rename of a directory", 2, 1, [&](auto& n) { mkdir(dir_, n); },
      [&](Meta& m, auto& n) { return m.rename(root, dir_, n, other_, n, 0).status(); });
  expect("link", 3, 2, file, [&](Meta& m, auto& n) { return m.link(root, made_, other_, n).status(); });
}

TEST_P(RoundTripsTest, attributes) {
  auto file = [&](const std::string& n) { made_ = mk(dir_, n); };
  auto alice = user(1000);
  AQ_ASSERT_OK(meta_->setattr(root, dir_, {.mask = kSetMode, .mode = 0777}, 0));
  auto f = mk(dir_, "f"), s = mk(dir_, "s", FileType::symlink);
  AQ_ASSERT_OK(meta_->setxattr(root, f, "user.a", "v", 0));
  // Reads trust nothing that was seen before.
  expect("lookup", 1, 1, file, [&](Meta& m, auto& n) { return m.lookup(root, dir_, n).status(); });
  expect("lookup as a user", 1, 1, file, [&](Meta& m, auto& n) { return m.lookup(alice, dir_, n).status(); });
  expect("getattr", 1, 1, nothing, [&](Meta& m, auto&) { return m.getattr(root, f).status(); });
  expect("readlink", 1, 1, nothing, [&](Meta& m, auto&) { return m.readlink(root, s).status(); });
  expect("getxattr", 1, 1, nothing, [&](Meta& m, auto&) { return m.getxattr(root, f, "user.a").status(); });
  expect("statfs", 1, 1, nothing, [&](Meta& m, auto&) { return m.statfs(root, kRootIno).status(); });
  expect("readdir", 2, 2, nothing, [&](Meta& m, auto&) { return m.readdir(root, dir_, "", 1000, false).status(); });
  expect("readdir with attributes", 3, 3, nothing,
         [&](Meta& m, auto&) { return m.readdir(root, dir_, "", 1000, true).status(); });
  expect("chmod", 2, 1, file,
         [&](Meta& m, auto&) { return m.setattr(root, made_, {.mask = kSetMode, .mode = 0600}, 0).status(); });
}

TEST_P(RoundTripsTest, data) {
  auto file = [&](const std::string& n) { put(made_ = mk(dir_, n), 0, 100); };
  expect("commit of a written slice", 2, 1, file, [&](Meta& m, auto&) -> Status {
    TRY_ASSIGN(auto id, m.newSliceId());
    return m.write(made_, 0, {0, id, 100, 0, 100}, Time{1000, 5}).status();
  });
  expect("append", 2, 1, file, [&](Meta& m, auto&) -> Status {
    TRY_ASSIGN(auto id, m.newSliceId());
    return m.append(made_, id, 100, 0, 100, Time{1000, 5}).status();
  });
  expect("slices of a chunk", 1, 1, file, [&](Meta& m, auto&) { return m.readChunk(made_, 0).status(); });
  expect("truncate within a chunk", 2, 1, file, [&](Meta& m, auto&) { return m.truncate(root, made_, 10, false).status(); });
}

void RoundTripsTest::removals() {
  mk(dir_, "first");
  AQ_ASSERT_OK(meta_->unlink(root, dir_, "first", false));  // makes the folder of the hour in the trash
  // The folder of the hour is the third name: unknown to a newcomer, known from its second removal on.
  expect(
      "unlink", 2, 1, [&](auto& n) { put(mk(dir_, n), 0, 100); },
      [&](Meta& m, auto& n) { return m.unlink(root, dir_, n, false).status(); });
  expect(
      "rmdir", 2, 1, [&](auto& n) { mkdir(dir_, n); }, [&](Meta& m, auto& n) { return m.rmdir(root, dir_, n, false).status(); });
  expect(
      "rmdir of what is not empty", 1, 2, [&](auto& n) { mk(mkdir(dir_, n), "x"); },
      [&](Meta& m, auto& n) { return m.rmdir(root, dir_, n, false).status(); }, Code::notEmpty);
}

TEST_P(RoundTripsTest, removal) { removals(); }

class RoundTripsTrashTest : public RoundTripsTest {
  void tweak(Format& f) override { f.trashDays = 1; }
};
INSTANTIATE_TEST_SUITE_P(Stores, RoundTripsTrashTest, ::testing::Values(Backend::redis), backendName);
TEST_P(RoundTripsTrashTest, removal) { removals(); }

}  // namespace
}  // namespace aquifer::meta
