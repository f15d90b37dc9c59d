// Directory listings through the Vfs.
#include <set>

#include "vfs/test_support.h"

namespace aquifer::vfs {
namespace {

using testing::Fs;
using testing::Volume;

struct ListingTest : ::testing::TestWithParam<Volume::Kind> {
  Volume volume_{GetParam()};
  std::unique_ptr<testing::Client> client_ = volume_.mount();
  Fs fs_{*client_->vfs};
};

TEST_P(ListingTest, RemovingWhileReadingNeedsOnePass) {
  Ino d = fs_.mkdir(1, "d");
  constexpr int kFiles = 1500;
  for (int i = 0; i < kFiles; i++)
    ASSERT_TRUE(fs_.vfs.mknod(fs_.ctx, d, "f" + std::to_string(i), S_IFREG | 0644, 0, 0, 0).isOk());
  for (bool plus : {false, true}) {
    size_t seen = 0;
    // Half of them in the first round, the rest in the second, in small requests as the kernel makes them.
    fs_.list(d, 33, plus, [&](const std::string& name) {
      bool remove = seen++ % 2 == 0 || plus;
      EXPECT_TRUE(!remove || fs_.vfs.unlink(fs_.ctx, d, name).isOk()) << name;
    });
    EXPECT_EQ(seen, plus ? size_t{kFiles / 2} : size_t{kFiles});
  }
  EXPECT_TRUE(fs_.vfs.rmdir(fs_.ctx, 1, "d").isOk());
}

TEST_P(ListingTest, CreatingWhileReadingNeitherDoublesNorHides) {
  Ino d = fs_.mkdir(1, "d");
  std::set<std::string> before;
  for (int i = 0; i < 600; i++) {
    auto name = "f" + std::to_string(i);
    before.insert(name);
    ASSERT_TRUE(fs_.vfs.mknod(fs_.ctx, d, name, S_IFREG | 0644, 0, 0, 0).isOk());
  }
  int n = 0;
  auto names = fs_.list(d, 10, true, [&](const std::string&) {
    bool create = n++ < 600;
    EXPECT_TRUE(!create || fs_.vfs.mknod(fs_.ctx, d, "a" + std::to_string(n), S_IFREG | 0644, 0, 0, 0).isOk());
  });
  std::set<std::string> got(names.begin(), names.end());
  EXPECT_EQ(got.size(), names.size()) << "a name came twice";
  for (auto& b : before) EXPECT_TRUE(got.count(b)) << b;
}

TEST_P(ListingTest, PlusNeverShowsWhatWasChangedAfterTheListing) {
  Ino d = fs_.mkdir(1, "d");
  for (int i = 0; i < 100; i++) fs_.put(d, "f" + std::to_string(100 + i), "x");
  auto open = fs_.vfs.opendir(fs_.ctx, d, 0);
  ASSERT_TRUE(open.isOk());
  uint64_t off = 0;
  size_t n = 0;
  auto readSome = [&](size_t count, const std::function<void(const DirRow&)>& each) {
    size_t got = 0;
    ASSERT_TRUE(fs_.vfs.readdir(fs_.ctx, d, open->fh, off, true, [&](const DirRow& r) {
      if (got == count) return false;
      got++;
      off = r.nextOffset;
      each(r);
      return true;
    }).isOk());
  };
  readSome(12, [&](const DirRow& r) { n += r.entry != nullptr; });
  EXPECT_EQ(n, 10u);   // all but "." and ".."
  // Behind the position: one grows, one goes, one comes.
  auto f = fs_.open(fs_.find(d, "f150"));
  ASSERT_TRUE(fs_.write(f, 0, std::string(500, 'y')).isOk());
  ASSERT_TRUE(fs_.vfs.unlink(fs_.ctx, d, "f160").isOk());
  fs_.put(d, "f1555", "new");
  bool grown = false, gone = true, come = false;
  size_t rows = 0;
  while (true) {
    size_t before = rows;
    readSome(20, [&](const DirRow& r) {
      rows++;
      if (r.name == "f150") grown = !r.entry || r.entry->attr.length == 500;
      if (r.name == "f160") gone = false;
      if (r.name == "f1555") come = true;
    });
    if (rows == before) break;
  }
  EXPECT_TRUE(grown);
  EXPECT_TRUE(gone);
  EXPECT_TRUE(come);
  EXPECT_EQ(rows, 90u);
  fs_.close(f);
  ASSERT_TRUE(fs_.vfs.releasedir(fs_.ctx, d, open->fh).isOk());
}

TEST_P(ListingTest, SeekdirGoesBackToTheSameEntry) {
  Ino d = fs_.mkdir(1, "d");
  for (int i = 0; i < 50; i++) fs_.mkdir(d, "s" + std::to_string(10 + i));
  auto open = fs_.vfs.opendir(fs_.ctx, d, 0);
  ASSERT_TRUE(open.isOk());
  std::vector<std::pair<std::string, uint64_t>> all;
  ASSERT_TRUE(fs_.vfs.readdir(fs_.ctx, d, open->fh, 0, false, [&](const DirRow& r) {
    all.emplace_back(r.name, r.nextOffset);
    EXPECT_EQ(r.type, meta::FileType::directory);
    return true;
  }).isOk());
  ASSERT_EQ(all.size(), 52u);
  EXPECT_EQ(all[0].first, ".");
  EXPECT_EQ(all[1].first, "..");
  for (size_t i : {0u, 1u, 2u, 30u, 50u}) {
    std::string next;
    ASSERT_TRUE(fs_.vfs.readdir(fs_.ctx, d, open->fh, all[i].second, false, [&](const DirRow& r) {
      next = r.name;
      return false;
    }).isOk());
    EXPECT_EQ(next, all[i + 1].first);
  }
  ASSERT_TRUE(fs_.vfs.releasedir(fs_.ctx, d, open->fh).isOk());
}

TEST_P(ListingTest, DotDotIsTheParent) {
  Ino d = fs_.mkdir(1, "d"), e = fs_.mkdir(d, "e");
  auto open = fs_.vfs.opendir(fs_.ctx, e, 0);
  ASSERT_TRUE(open.isOk());
  Ino self = 0, parent = 0;
  ASSERT_TRUE(fs_.vfs.readdir(fs_.ctx, e, open->fh, 0, false, [&](const DirRow& r) {
    (r.name == "." ? self : parent) = r.ino;
    return true;
  }).isOk());
  EXPECT_EQ(self, e);
  EXPECT_EQ(parent, d);
  ASSERT_TRUE(fs_.vfs.releasedir(fs_.ctx, e, open->fh).isOk());
}

INSTANTIATE_TEST_SUITE_P(Stores, ListingTest, ::testing::Values(Volume::Kind::mem, Volume::Kind::sqlite));

}  // namespace
}  // namespace aquifer::vfs
