// Random transactions against a plain map.
#include <map>
#include <random>

#include "store_fixture.h"

namespace aquifer::meta {
namespace {

EVERY_STORE();

class Model {
 public:
  Model(uint64_t seed, bool emptyLists) : dice_(seed), fewestSlices_(emptyLists ? 0 : 1) {}
  uint64_t roll(uint64_t n) { return dice_() % n; }
  Key randomKey() {
    switch (roll(6)) {
      case 0: return key::dentry(1 + roll(3), std::string(1 + roll(2), static_cast<char>('a' + roll(4))));
      case 1: return key::node(1 + roll(6));
      case 2: return key::chunk(1 + roll(3), static_cast<uint32_t>(roll(3)));
      case 3: return key::xattr(1 + roll(3), std::string(1, static_cast<char>('a' + roll(3))));
      case 4: return key::delFile(1 + roll(8), 4096);
      default: {
        constexpr std::string_view kNames[] = {counter::kNextTrash, counter::kTotalInodes, counter::kUsedSpace};
        return key::counter(kNames[roll(3)]);
      }
    }
  }
  Value randomValue(Kind kind) {
    switch (kind) {
      case Kind::dentry: return Dentry{FileType::regular, 1 + roll(6)};
      case Kind::node: {
        auto a = sampleAttr();
        a.nlink = static_cast<uint32_t>(2 + roll(100));
        a.mtime = {static_cast<int64_t>(roll(10'000)) - 5000, static_cast<uint32_t>(roll(1'000'000'000))};
        return a;
      }
      case Kind::chunk: return SliceList(fewestSlices_ + roll(3), Slice{1, roll(9), 3, 0, 3});
      case Kind::xattr: return std::string(roll(5), 'v');
      default: return static_cast<int64_t>(roll(1000));
    }
  }
  std::map<Key, Value> records;

 private:
  std::mt19937_64 dice_;
  const uint64_t fewestSlices_;
};

void checkReads(MetaTxn& t, Model& m, const std::map<Key, Value>& expected) {
  auto key = m.randomKey();
  auto seen = t.get(key);
  ASSERT_TRUE(seen.isOk());
  auto it = expected.find(key);
  EXPECT_EQ(it == expected.end() ? std::nullopt : std::optional<Value>(it->second), *seen);

  Range range{key.kind};
  if (key.kind != Kind::counter && m.roll(2)) range.id = key.id;
  if (m.roll(2)) range.after = m.randomKey();
  if (range.after && range.after->kind != key.kind) range.after.reset();
  if (m.roll(2)) range.limit = 1 + m.roll(4);
  std::vector<std::pair<Key, Value>> want, got;
  for (auto& [k, v] : expected)
    if (k.kind == range.kind && (!range.id || k.id == *range.id) && (!range.after || k > *range.after) &&
        want.size() < range.limit)
      want.emplace_back(k, v);
  auto s = t.list(range, [&](const Key& k, const Value& v) {
    got.emplace_back(k, v);
    return true;
  });
  ASSERT_TRUE(s.isOk());
  EXPECT_EQ(want, got);

  auto dir = 1 + m.roll(3);
  auto after = std::string(m.roll(3), static_cast<char>('a' + m.roll(4)));
  size_t limit = 1 + m.roll(5);
  auto entries = t.listDir(dir, after, limit, true);
  ASSERT_TRUE(entries.isOk());
  std::vector<DirEntry> wanted;
  for (auto& [k, v] : expected) {
    if (k.kind != Kind::dentry || k.id != dir || k.name <= after || wanted.size() == limit) continue;
    auto& dentry = std::get<Dentry>(v);
    auto node = expected.find(key::node(dentry.ino));
    wanted.push_back({k.name, dentry, node == expected.end() ? std::nullopt : std::optional(std::get<Attr>(node->second))});
  }
  ASSERT_EQ(wanted.size(), entries->size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(wanted[i].name, (*entries)[i].name);
    EXPECT_EQ(wanted[i].dentry, (*entries)[i].dentry);
    EXPECT_EQ(wanted[i].attr, (*entries)[i].attr);
  }
}

void randomWrite(MetaTxn& t, Model& m, std::map<Key, Value>& expected) {
  auto key = m.randomKey();
  switch (m.roll(4)) {
    case 0:
      t.erase(key);
      expected.erase(key);
      return;
    case 1:
      if (key.kind == Kind::counter) {
        auto& n = expected.try_emplace(key, int64_t{0}).first->second;
        n = std::get<int64_t>(n) + 5;
        t.add(key, 5);
        return;
      }
      if (key.kind == Kind::node) {
        t.addNlink(key.id, -1);
        Time now{static_cast<int64_t>(m.roll(10'000)) - 5000, 77};
        t.touch(key.id, now, 1'000'000'000);
        if (auto it = expected.find(key); it != expected.end()) {
          auto& attr = std::get<Attr>(it->second);
          --attr.nlink;
          if (now.nanos() - attr.mtime.nanos() >= 1'000'000'000) attr.mtime = attr.ctime = now;
        }
        return;
      }
      if (key.kind == Kind::chunk) {
        Slice slice{9, 8, 7, 6, 1};
        t.appendSlice(key.id, static_cast<uint32_t>(key.sub), slice);
        std::get<SliceList>(expected.try_emplace(key, SliceList{}).first->second).push_back(slice);
        return;
      }
      [[fallthrough]];
    default: {
      auto value = m.randomValue(key.kind);
      t.put(key, value);
      expected[key] = value;
    }
  }
}

TEST_P(StoreTest, RandomTransactionsMatchAPlainMap) {
  for (uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_TRUE(store_->drop().isOk());
    ASSERT_TRUE(store_->prepareSchema(true).isOk());
    Model m(seed, store_->traits().keepsEmptyLists);
    for (int i = 0; i < 400 && !HasFailure(); ++i) {
      bool fails = m.roll(4) == 0;
      auto expected = m.records;
      auto s = once([&](MetaTxn& t) -> Status {
        expected = m.records;  // a body may run again
        for (uint64_t step = m.roll(6); step > 0; --step) {
          randomWrite(t, m, expected);
          checkReads(t, m, expected);
        }
        return fails ? Status(Code::busy) : Status();
      });
      ASSERT_EQ(fails ? Code::busy : Code::ok, s.code()) << s.text();
      if (!fails) m.records = expected;
      ASSERT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) -> Status {
                    checkReads(t, m, m.records);
                    return {};
                  }).isOk());
    }
  }
}

}  // namespace
}  // namespace aquifer::meta
