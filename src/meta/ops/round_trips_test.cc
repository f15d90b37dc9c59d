// What operations cost in round trips on a store across a network (docs/round_trips.md), counted on Redis.
#include <fmt/core.h>

#include "meta/ops/testing.h"
#include "meta/store/redis/redis_store.h"

namespace aquifer::meta {
namespace {

class RoundTripsTest : public MetaTest {
 protected:
  // The trips that `work` needs in this thread.
  template <class F>
  uint64_t trips(F&& work) {
    auto before = redisRoundTrips();
    AQ_EXPECT_OK(work());
    return redisRoundTrips() - before;
  }
  void expect(const char* what, uint64_t want, uint64_t got) {
    EXPECT_EQ(want, got) << what;
    if (std::getenv("AQUIFER_SHOW")) fmt::print("{:40} {}\n", what, got);
  }
  void removals(uint64_t unlinks);
};

INSTANTIATE_TEST_SUITE_P(Stores, RoundTripsTest, ::testing::Values(Backend::redis), backendName);

TEST_P(RoundTripsTest, namesAndAttributes) {
  auto dir = mkdir(kRootIno, "dir"), other = mkdir(kRootIno, "other");
  auto alice = user(1000);
  for (auto ino : {dir, other}) AQ_ASSERT_OK(meta_->setattr(root, ino, {.mask = kSetMode, .mode = 0777}, 0));
  expect("create", 2, trips([&] { return meta_->mknod(root, dir, "f", FileType::regular, 0644, 0, 0, "", nullptr, 0); }));
  expect("create as a user", 2, trips([&] { return meta_->mknod(alice, dir, "g", FileType::regular, 0644, 0, 0, "", nullptr, 0); }));
  expect("mkdir", 2, trips([&] { return meta_->mknod(root, dir, "d", FileType::directory, 0755, 0, 0, "", nullptr, 0); }));
  expect("symlink", 2, trips([&] { return meta_->mknod(root, dir, "s", FileType::symlink, 0, 0, 0, "target", nullptr, 0); }));
  auto before = redisRoundTrips();
  EXPECT_TRUE(meta_->mknod(root, dir, "f", FileType::regular, 0644, 0, 0, "", nullptr, 0).is(Code::exists));
  expect("create, the name exists", 1, redisRoundTrips() - before);
  expect("lookup", 1, trips([&] { return meta_->lookup(root, dir, "f"); }));
  expect("lookup as a user", 1, trips([&] { return meta_->lookup(alice, dir, "f"); }));
  auto f = inoOf(dir, "f"), s = inoOf(dir, "s");
  expect("getattr", 1, trips([&] { return meta_->getattr(root, f); }));
  expect("readlink", 1, trips([&] { return meta_->readlink(root, s); }));
  expect("chmod", 2, trips([&] { return meta_->setattr(root, f, {.mask = kSetMode, .mode = 0600}, 0); }));
  expect("link", 3, trips([&] { return meta_->link(root, f, other, "hard"); }));
  expect("rename", 2, trips([&] { return meta_->rename(root, dir, "g", other, "g", 0); }));
  expect("rename over a file", 2, trips([&] { return meta_->rename(root, dir, "s", other, "g", 0); }));
  expect("rename of a directory", 2, trips([&] { return meta_->rename(root, dir, "d", other, "d", 0); }));
  expect("readdir with attributes, links", 4, trips([&] { return meta_->readdir(root, other, "", 1000, true); }));
  expect("readdir with attributes", 3, trips([&] { return meta_->readdir(root, kRootIno, "", 1000, true); }));
  expect("setxattr", 2, trips([&] { return meta_->setxattr(root, f, "user.a", "v", 0); }));
  expect("getxattr", 1, trips([&] { return meta_->getxattr(root, f, "user.a"); }));
  expect("statfs", 1, trips([&] { return meta_->statfs(root, kRootIno); }));
}

TEST_P(RoundTripsTest, data) {
  auto f = mk(kRootIno, "f");
  auto id = meta_->newSliceId();
  AQ_ASSERT_OK(id);
  auto slice = Slice{0, *id, 100, 0, 100};
  expect("commit of a written slice", 2, trips([&] { return meta_->write(f, 0, slice, Time{1000, 5}); }));
  auto next = meta_->newSliceId();
  AQ_ASSERT_OK(next);
  expect("append", 2, trips([&] { return meta_->append(f, *next, 100, 0, 100, Time{1000, 5}); }));
  expect("read of a chunk's slices", 1, trips([&] { return meta_->readChunk(f, 0); }));
  expect("truncate within a chunk", 2, trips([&] { return meta_->truncate(root, f, 10, false); }));
}

void RoundTripsTest::removals(uint64_t unlinks) {
  auto dir = mkdir(kRootIno, "dir");
  for (auto* name : {"a", "b", "c", "over"}) put(mk(dir, name), 0, 100);
  mkdir(dir, "d");
  mkdir(dir, "e");
  AQ_ASSERT_OK(meta_->unlink(root, dir, "a", false));  // makes the trash folder of the hour
  expect("unlink, last link", unlinks, trips([&] { return meta_->unlink(root, dir, "b", false); }));
  expect("rmdir", unlinks, trips([&] { return meta_->rmdir(root, dir, "d", false); }));
  expect("rename over a file with data", 2, trips([&] { return meta_->rename(root, dir, "c", dir, "over", 0); }));
  auto before = redisRoundTrips();
  EXPECT_TRUE(meta_->rmdir(root, kRootIno, "dir", false).is(Code::notEmpty));
  expect("rmdir, not empty", 1, redisRoundTrips() - before);
}

TEST_P(RoundTripsTest, removal) { removals(2); }

class RoundTripsTrashTest : public RoundTripsTest {
  void tweak(Format& f) override { f.trashDays = 1; }
};
INSTANTIATE_TEST_SUITE_P(Stores, RoundTripsTrashTest, ::testing::Values(Backend::redis), backendName);
TEST_P(RoundTripsTrashTest, removal) { removals(2); }

}  // namespace
}  // namespace aquifer::meta
