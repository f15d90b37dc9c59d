#include "meta/store/redis/windows.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "meta/store/redis/test_server.h"

namespace aquifer::meta::redis {
namespace {

class WindowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto* server = TestServer::shared();
    if (!server) GTEST_SKIP() << "redis-server is missing or does not start";
    auto address = parseAddress(server->freshUrl().substr(8), false);
    ASSERT_TRUE(address.isOk());
    client_ = std::make_unique<Client>(*address);
  }
  void TearDown() override {
    if (client_) {
      EXPECT_TRUE(client_->write({"FLUSHDB"}).isOk());
    }
  }
  std::unique_ptr<Client> client_;
};

// Windows far smaller than the set, pages of every size: each item once, in order.
TEST_F(WindowsTest, ManyWindowsMakeOneListing) {
  std::mt19937 dice(7);
  std::map<std::string, std::string> all;
  std::vector<Command> commands{{"HSET", "d1"}};
  while (all.size() < 3000) {
    std::string name;
    for (auto n = 1 + dice() % 6; n > 0; --n) name += static_cast<char>(1 + dice() % 255);
    if (!all.emplace(name, std::to_string(all.size())).second) continue;
    commands.back().push_back(name);
    commands.back().push_back(all[name]);
  }
  ASSERT_TRUE(client_->read(commands).isOk());
  for (size_t limit : {1u, 7u, 100u, 250u, 5000u}) {
    Windows windows(*client_, {.worthKeeping = 50, .named = 250, .numbers = 250});
    std::vector<std::pair<std::string, std::string>> seen;
    std::string after;
    for (bool more = true; more;) {
      auto page = windows.fields("d1", after, limit);
      ASSERT_TRUE(page.isOk());
      ASSERT_LE(page->items.size(), limit);
      for (auto& item : page->items) seen.emplace_back(item.name, item.value);
      more = !page->complete;
      if (page->items.empty()) break;
      after = page->items.back().name;
    }
    ASSERT_EQ(all.size(), seen.size()) << limit;
    EXPECT_TRUE(std::equal(all.begin(), all.end(), seen.begin(),
                           [](auto& a, auto& b) { return a.first == b.first && a.second == b.second; }));
  }
}

TEST_F(WindowsTest, NumbersComeByValueNotByText) {
  std::set<NumberItem> all;
  std::vector<Command> commands;
  std::mt19937 dice(9);
  while (all.size() < 1000) {
    NumberItem item{dice() % 2000, dice() % 3};
    if (all.insert(item).second) commands.push_back({"SET", "c" + std::to_string(item.id) + "_" + std::to_string(item.sub), "x"});
  }
  for (auto* other : {"c", "c1", "c1_", "c_1", "c1x_1", "cx_1", "d1", "c1_1_1", "c-1_1", "c18446744073709551616_1"})
    commands.push_back({"SET", other, "x"});
  ASSERT_TRUE(client_->read(commands).isOk());
  Windows windows(*client_, {.worthKeeping = 20, .named = 64, .numbers = 64});
  std::vector<NumberItem> seen;
  std::optional<NumberItem> after;
  for (;;) {
    auto page = windows.numbers({NumberSource::Type::keys, "c[0-9]*_*", "c", '_'}, after, 17);
    ASSERT_TRUE(page.isOk());
    seen.insert(seen.end(), page->items.begin(), page->items.end());
    if (page->complete || page->items.empty()) break;
    after = page->items.back();
  }
  EXPECT_EQ(std::vector<NumberItem>(all.begin(), all.end()), seen);
}

TEST_F(WindowsTest, AListingFromTheStartIsNeverOld) {
  Windows windows(*client_, {.worthKeeping = 2, .named = 10, .numbers = 10});
  std::vector<Command> commands{{"HSET", "d1"}};
  for (auto* name : {"a", "b", "c", "d", "e", "f"}) commands.back().insert(commands.back().end(), {name, "1"});
  ASSERT_TRUE(client_->read(commands).isOk());
  EXPECT_EQ(2u, windows.fields("d1", "", 2)->items.size());
  ASSERT_TRUE(client_->write({"HDEL", "d1", "a"}).isOk());
  auto kept = windows.fields("d1", "b", 2);
  EXPECT_FALSE(kept->fresh) << "a page that goes on may be from before, and says so";
  auto again = windows.fields("d1", "", 2);
  EXPECT_TRUE(again->fresh);
  EXPECT_EQ("b", again->items[0].name);
  EXPECT_EQ(5u, again->seen);
}

}  // namespace
}  // namespace aquifer::meta::redis
