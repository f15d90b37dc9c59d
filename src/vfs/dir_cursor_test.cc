#include "vfs/dir_cursor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace aquifer::vfs {
namespace {

// A directory of sorted names; listing counts what it hands out.
struct FakeDir {
  std::set<std::string> names;
  size_t calls = 0, rows = 0;
  DirCursor::List list() {
    return [this](std::string_view after, size_t limit, bool plus) -> Result<std::vector<meta::DirEntry>> {
      calls++;
      std::vector<meta::DirEntry> out;
      for (auto it = names.upper_bound(std::string(after)); it != names.end() && out.size() < limit; ++it) {
        out.push_back({*it, {meta::FileType::regular, 5}, std::nullopt});
        if (plus) out.back().attr = meta::Attr();
      }
      rows += out.size();
      return out;
    };
  }
};

std::vector<std::pair<std::string, uint64_t>> take(DirCursor& c, size_t n) {
  std::vector<std::pair<std::string, uint64_t>> out;
  while (out.size() < n) {
    auto e = c.peek();
    EXPECT_TRUE(e.isOk());
    if (!e || !*e) break;
    out.emplace_back((*e)->name, c.cookie());
    c.advance();
  }
  return out;
}

FakeDir dirOf(size_t n) {
  FakeDir d;
  for (size_t i = 0; i < n; i++) d.names.insert(fmt::format("f{:07}", i));
  return d;
}

TEST(DirCursor, ListsAllOnceInPages) {
  auto d = dirOf(5000);
  DirCursor c(d.list());
  ASSERT_TRUE(c.seek(DirCursor::kStart, false).isOk());
  auto all = take(c, 10000);
  ASSERT_EQ(all.size(), 5000u);
  std::set<uint64_t> cookies;
  size_t i = 0;
  for (auto& [name, cookie] : all) {
    EXPECT_EQ(name, fmt::format("f{:07}", i++));
    cookies.insert(cookie);
  }
  EXPECT_EQ(cookies.size(), 5000u);
  EXPECT_LT(d.calls, 12u);
}

TEST(DirCursor, EmptyDirectoryEndsAtOnce) {
  FakeDir d;
  DirCursor c(d.list());
  ASSERT_TRUE(c.seek(DirCursor::kStart, false).isOk());
  EXPECT_TRUE(take(c, 1).empty());
}

TEST(DirCursor, CookiesOfRecentEntriesSurviveChanges) {
  auto d = dirOf(3000);
  DirCursor c(d.list());
  ASSERT_TRUE(c.seek(DirCursor::kStart, false).isOk());
  auto all = take(c, 2500);
  // Names before and behind come and go; what follows the cookie's name is still what follows.
  for (size_t i = 0; i < 1000; i++) d.names.erase(fmt::format("f{:07}", i));
  d.names.insert("a");
  ASSERT_TRUE(c.seek(all[1499].second, false).isOk());
  auto rest = take(c, 10000);
  ASSERT_EQ(rest.size(), 1500u);
  EXPECT_EQ(rest.front().first, "f0001500");
  EXPECT_EQ(rest.back().first, "f0002999");
}

TEST(DirCursor, DeletingWhileReadingSkipsNothing) {
  auto d = dirOf(4000);
  DirCursor c(d.list());
  uint64_t at = DirCursor::kStart;
  size_t seen = 0;
  while (true) {
    ASSERT_TRUE(c.seek(at, false).isOk());
    auto rows = take(c, 37);
    if (rows.empty()) break;
    for (auto& [name, cookie] : rows) {
      EXPECT_EQ(d.names.erase(name), 1u) << name << " came twice";
      at = cookie;
      seen++;
    }
  }
  EXPECT_EQ(seen, 4000u);
  EXPECT_TRUE(d.names.empty());
}

TEST(DirCursor, RewindListsAnew) {
  auto d = dirOf(10);
  DirCursor c(d.list());
  ASSERT_TRUE(c.seek(DirCursor::kStart, false).isOk());
  take(c, 10);
  d.names.insert("g");
  ASSERT_TRUE(c.seek(DirCursor::kStart, false).isOk());
  EXPECT_EQ(take(c, 100).size(), 11u);
}

TEST(DirCursor, RelistGoesOnWhereItStoodAndCookiesStayApart) {
  auto d = dirOf(500);
  DirCursor c(d.list());
  ASSERT_TRUE(c.seek(DirCursor::kStart, false).isOk());
  auto first = take(c, 20);
  ASSERT_TRUE(c.relist(true).isOk());
  EXPECT_TRUE(c.hasAttrs());
  auto rest = take(c, 1000);
  ASSERT_EQ(rest.size(), 480u);
  EXPECT_EQ(rest.front().first, "f0000020");
  std::map<uint64_t, std::string> byCookie;
  for (auto& list : {first, rest})
    for (auto& [name, cookie] : list) EXPECT_TRUE(byCookie.emplace(cookie, name).second) << cookie;
  // A cookie from before the relisting still leads to the same place.
  ASSERT_TRUE(c.seek(first[9].second, false).isOk());
  EXPECT_EQ(take(c, 1).front().first, "f0000010");
}

TEST(DirCursor, MemoryStaysBelowOneMiBAtMillionsOfEntries) {
  // Names are made on the fly: a set of two million strings would be the test's own memory problem.
  constexpr size_t kEntries = 2'000'000;
  std::string longTail(200, 'x');
  auto nameOf = [&](size_t i) { return fmt::format("f{:09}{}", i, longTail); };
  DirCursor c([&](std::string_view after, size_t limit, bool plus) -> Result<std::vector<meta::DirEntry>> {
    size_t i = after.empty() ? 0 : std::stoul(std::string(after.substr(1, 9))) + 1;
    std::vector<meta::DirEntry> out;
    for (; i < kEntries && out.size() < limit; i++) {
      out.push_back({nameOf(i), {meta::FileType::regular, i + 2}, std::nullopt});
      if (plus) out.back().attr = meta::Attr();
    }
    return out;
  });
  ASSERT_TRUE(c.seek(DirCursor::kStart, false).isOk());
  size_t n = 0, most = 0;
  uint64_t middle = 0;
  while (true) {
    auto e = c.peek();
    ASSERT_TRUE(e.isOk());
    if (!*e) break;
    if (n == kEntries / 2) middle = c.cookie();
    c.advance();
    if (++n % 10'000 == 0) most = std::max(most, c.memory());
  }
  EXPECT_EQ(n, kEntries);
  EXPECT_LT(most, 1u << 20);
  // A seek far back finds its place again.
  ASSERT_TRUE(c.seek(middle, false).isOk());
  EXPECT_EQ(take(c, 1).front().first, nameOf(kEntries / 2 + 1));
}

}  // namespace
}  // namespace aquifer::vfs
