// The contract of meta/store/txn.h, executed: records, read-your-writes, verbs, listings, views.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "store_fixture.h"

namespace aquifer::meta {
namespace {

EVERY_STORE();

const std::string kBinary("\0\xff\x80 'quote' \n\0tail", 19);

// A record of every kind, with a second value to replace it by.
struct Sample {
  Key key;
  Value first, second;
};
std::vector<Sample> samples() {
  auto attr = sampleAttr();
  auto other = directory();
  AclRule rule{6, 4, 5, AclRule::kAbsent, {{1000, 7}, {4'000'000'000u, 4}}, {{5, 6}}};
  AclRule minimal{7, 5, AclRule::kAbsent, 0, {}, {}};
  SliceList slices{{0, 77, 4096, 0, 4096}, {10, 0, 0, 0, 5}};
  SliceList more{{1, 1ull << 40, kChunkSize, 7, kChunkSize - 8}};
  PlockTable locks{{3, 0xffff'ffff'ffff'fffeull, {{1, 42, 0, 9}, {0, 42, 20, UINT64_MAX}}}, {4, 1, {{0, 1, 5, 5}}}};
  return {
      {key::setting(), std::string("{\"Name\": \"x\"}"), std::string("{}")},
      {key::counter("nextInode"), int64_t{2}, int64_t{1} << 60},
      {key::counter(counter::kAclMaxId), int64_t{12}, int64_t{15}},
      {key::node(5), attr, other},
      {key::node(kTrashIno), other, attr},
      {key::dentry(1, kBinary), Dentry{FileType::symlink, 99}, Dentry{FileType::regular, kTrashIno + 1}},
      {key::dentry(kTrashIno, "2026-12-01-04"), Dentry{FileType::directory, kTrashIno + 1}, Dentry{FileType::directory, 3}},
      {key::chunk(5, 0xffff'ffff), slices, more},
      {key::sliceRef(77, 4096), int64_t{2}, int64_t{0}},  // one holder may not be stored: absence means it

      {key::symlink(6), kBinary, std::string("/target")},
      {key::xattr(5, "user.a"), kBinary, std::string()},
      {key::session(4), SessionRecord{1'700'000'000, "{\"Version\":\"1.4.2\"}", false}, SessionRecord{5, "", false}},
      {key::sustained(4, 9), int64_t{1}, int64_t{1}},
      {key::delFile(8, 1ull << 50), int64_t{1'700'000'000}, int64_t{3}},
      {key::delSlices(100, 1'700'000'000), DelayedList{{77, 4096}, {78, 1}}, DelayedList{{1, 1}}},
      {key::dirStat(1), DirStat{1, 4096, -1}, DirStat{-5, 0, 1ll << 50}},
      {key::dirQuota(1), Quota{1ll << 50, -1, 4096, 1}, Quota{-1, 10, -4096, 0}},
      {key::userQuota(4'000'000'000u), Quota{1, 2, 3, 4}, Quota{}},
      {key::groupQuota(0), Quota{5, 6, 7, 8}, Quota{}},
      {key::acl(12), rule, minimal},
      {key::flock(5), FlockTable{{1, 0x8000'0000'0000'0001ull, 'W'}}, FlockTable{{1, 2, 'R'}, {2, 1, 'R'}}},
      {key::plock(5), locks, PlockTable{{9, 9, {{1, 1, 1, 2}}}}},
      {key::detached(11), int64_t{1'700'000'000}, int64_t{0}},
  };
}

TEST_P(StoreTest, EveryKindOfRecordRoundTrips) {
  for (SessionId sid : {1, 2, 3, 9}) put(key::session(sid), SessionRecord{1, "", false});  // holders of the locks below
  for (auto& sample : samples()) {
    auto what = testing::Message() << "kind " << static_cast<int>(sample.key.kind) << " " << sample.key.name;
    bool isNumber = sample.key == key::counter(counter::kAclMaxId);  // numbers itself on SQL, cannot be removed there
    EXPECT_EQ(std::nullopt, get(sample.key)) << what;
    ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                  t.insert(sample.key, sample.first);
                  return {};
                }).isOk())
        << what;
    EXPECT_EQ(sample.first, get(sample.key)) << what;
    put(sample.key, sample.second);
    EXPECT_EQ(sample.second, get(sample.key)) << what;
    if (!isNumber) {
      auto found = list({sample.key.kind, std::nullopt, std::nullopt, SIZE_MAX});
      EXPECT_NE(found.end(), std::find(found.begin(), found.end(), std::pair(sample.key, sample.second))) << what;
      ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                    t.erase(sample.key);
                    return {};
                  }).isOk())
          << what;
      EXPECT_EQ(std::nullopt, get(sample.key)) << what;
    }
  }
}

TEST_P(StoreTest, ABodyThatFailsHasChangedNothing) {
  for (auto& sample : samples()) put(sample.key, sample.first);
  EXPECT_EQ(Code::notEmpty, once([&](MetaTxn& t) -> Status {
                              for (auto& sample : samples()) t.put(sample.key, sample.second);
                              t.add(key::counter("usedSpace"), 5);
                              t.touch(5, {2'000'000'000, 0}, 0);
                              t.appendSlice(5, 0, {0, 1, 1, 0, 1});
                              t.log("never");
                              t.put(key::node(4242), sampleAttr());
                              return Code::notEmpty;
                            }).code());
  for (auto& sample : samples()) EXPECT_EQ(sample.first, get(sample.key));
  EXPECT_EQ(std::nullopt, get(key::node(4242)));
  EXPECT_EQ(std::nullopt, get(key::chunk(5, 0)));
  EXPECT_TRUE(list({Kind::changeLog}).empty());
}

TEST_P(StoreTest, ReadsSeeTheBodysOwnWrites) {
  for (auto& sample : samples()) put(sample.key, sample.first);
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                for (auto& sample : samples()) {
                  if (sample.key == key::counter(counter::kAclMaxId)) continue;
                  t.put(sample.key, sample.second);
                  TRY_ASSIGN(auto seen, t.get(sample.key));
                  EXPECT_EQ(sample.second, seen);
                  t.erase(sample.key);
                  TRY_ASSIGN(seen, t.get(sample.key));
                  EXPECT_EQ(std::nullopt, seen);
                  TRY(t.list({sample.key.kind}, [&](const Key& k, const Value&) {
                    EXPECT_NE(sample.key, k);
                    return true;
                  }));
                  t.put(sample.key, sample.first);
                }
                return {};
              }).isOk());
  for (auto& sample : samples()) EXPECT_EQ(sample.first, get(sample.key));
}

TEST_P(StoreTest, InsertOfAnExistingRecordIsAConflict) {
  for (auto& sample : samples()) {
    if (sample.key.kind == Kind::counter || sample.key.kind == Kind::flock || sample.key.kind == Kind::plock) continue;
    put(sample.key, sample.first);
    EXPECT_EQ(Code::conflict, once([&](MetaTxn& t) -> Status {
                                t.put(key::counter("probe"), int64_t{1});
                                t.insert(sample.key, sample.second);
                                return {};
                              }).code())
        << static_cast<int>(sample.key.kind);
    EXPECT_EQ(sample.first, get(sample.key));
  }
  EXPECT_EQ(std::nullopt, get(key::counter("probe")));
}

TEST_P(StoreTest, CountersAndReferencesAdd) {
  auto add = [&](const Key& key, int64_t delta) {
    return write([&](MetaTxn& t) -> Status {
      t.add(key, delta);
      return {};
    });
  };
  auto c = key::counter("usedSpace");
  ASSERT_TRUE(add(c, 5).isOk());
  ASSERT_TRUE(add(c, -7).isOk());
  EXPECT_EQ(-2, number(c));
  auto acl = key::counter(counter::kAclMaxId);
  ASSERT_TRUE(add(acl, 1).isOk());
  ASSERT_TRUE(add(acl, 1).isOk());
  EXPECT_EQ(2, number(acl));
  auto ref = key::sliceRef(9, 100);
  put(ref, int64_t{1});
  ASSERT_TRUE(add(ref, 2).isOk());
  EXPECT_EQ(3, number(ref));
  ASSERT_TRUE(add(ref, -3).isOk());
  EXPECT_EQ(0, number(ref));
  EXPECT_TRUE(add(key::sliceRef(1234, 5), -1).isOk()) << "a missing one is harmless";
  // Within the body the sum is seen at once.
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.add(c, 10);
                t.add(c, 10);
                TRY_ASSIGN(auto seen, t.find<int64_t>(c));
                EXPECT_EQ(18, seen);
                t.put(c, int64_t{100});
                t.add(c, 1);
                TRY_ASSIGN(seen, t.find<int64_t>(c));
                EXPECT_EQ(101, seen);
                return {};
              }).isOk());
  EXPECT_EQ(101, number(c));
}

TEST_P(StoreTest, UnusedSlicesAreThoseWithoutHolders) {
  put(key::sliceRef(1, 10), int64_t{0});
  put(key::sliceRef(2, 20), int64_t{-1});
  put(key::sliceRef(3, 30), int64_t{1});
  auto all = store_->unusedSlices(10);
  ASSERT_TRUE(all.isOk());
  std::sort(all->begin(), all->end());
  EXPECT_EQ((std::vector<std::pair<SliceId, uint32_t>>{{1, 10}, {2, 20}}), *all);
  EXPECT_EQ(1u, store_->unusedSlices(1)->size());
}

TEST_P(StoreTest, NodeVerbs) {
  put(key::node(1), directory());
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.addNlink(1, 3);
                t.addNlink(1, -1);
                t.touch(1, {1000, 50'000'000}, 100'000'000);  // too soon
                TRY_ASSIGN(auto seen, t.node(1));
                EXPECT_EQ(4u, seen.nlink);
                EXPECT_EQ((Time{1000, 0}), seen.mtime);
                t.touch(99, {5, 0}, 0);  // no such node: nothing
                return {};
              }).isOk());
  auto attr = std::get<Attr>(*get(key::node(1)));
  EXPECT_EQ(4u, attr.nlink);
  EXPECT_EQ((Time{1000, 0}), attr.mtime);
  EXPECT_EQ(std::nullopt, get(key::node(99)));
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.touch(1, {1000, 100'000'001}, 100'000'000);
                return {};
              }).isOk());
  attr = std::get<Attr>(*get(key::node(1)));
  EXPECT_EQ((Time{1000, 100'000'001}), attr.mtime);
  EXPECT_EQ((Time{1000, 100'000'001}), attr.ctime);
  // An older clock does not turn the time back.
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.touch(1, {999, 0}, 0);
                return {};
              }).isOk());
  EXPECT_EQ((Time{1000, 100'000'001}), std::get<Attr>(*get(key::node(1))).mtime);
  EXPECT_EQ(directory().atime, std::get<Attr>(*get(key::node(1))).atime);
}

TEST_P(StoreTest, SlicesAppendInOrderAndAreCounted) {
  Slice a{0, 1, 10, 0, 10}, b{10, 0, 0, 0, 256}, c{5, 3, 0x00FF'0041u, 0, 10};
  uint32_t count = 0;
  for (auto& [slice, expected] : {std::pair(a, 1u), std::pair(b, 2u)}) {
    ASSERT_TRUE(write([&, slice = slice](MetaTxn& t) -> Status {
                  t.appendSlice(5, 1, slice, &count);
                  return {};
                }).isOk());
    EXPECT_EQ(expected, count);
  }
  uint32_t first = 0;
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.appendSlice(5, 1, c, &count);
                t.appendSlice(5, 2, a, &first);
                TRY_ASSIGN(auto seen, t.find<SliceList>(key::chunk(5, 1)));
                EXPECT_EQ((SliceList{a, b, c}), seen);
                t.appendSlice(5, 1, a, &count);
                return {};
              }).isOk());
  EXPECT_EQ(4u, count);
  EXPECT_EQ(1u, first);
  EXPECT_EQ(Value(SliceList{a, b, c, a}), get(key::chunk(5, 1)));
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.put(key::chunk(5, 1), SliceList{c});
                t.appendSlice(5, 1, b, &count);
                return {};
              }).isOk());
  EXPECT_EQ(2u, count);
  EXPECT_EQ(Value(SliceList{c, b}), get(key::chunk(5, 1)));
}

TEST_P(StoreTest, StatisticsAndQuotasAdd) {
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.put(key::dirStat(1), DirStat{1, 2, 3});
                t.put(key::dirQuota(1), Quota{100, 100, 1, 1});
                return {};
              }).isOk());
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.addDirStat(1, {10, 20, 30});
                t.addDirStat(1, {1, 1, 1});
                t.addDirStat(2, {1, 1, 1});
                t.addQuota(Kind::dirQuota, 1, 4096, 1);
                t.addQuota(Kind::dirQuota, 2, 4096, 1);
                t.addQuota(Kind::userQuota, 7, 4096, 1);
                t.addQuota(Kind::groupQuota, 7, -4096, -1);
                TRY_ASSIGN(auto stat, t.find<DirStat>(key::dirStat(1)));
                EXPECT_EQ((DirStat{12, 23, 34}), stat);
                TRY_ASSIGN(auto quota, t.find<Quota>(key::userQuota(7)));
                EXPECT_EQ((Quota{-1, -1, 4096, 1}), quota);
                size_t seen = 0;
                TRY(t.list({Kind::userQuota}, [&](const Key& k, const Value&) {
                  EXPECT_EQ(7u, k.id);
                  ++seen;
                  return true;
                }));
                EXPECT_EQ(1u, seen) << "a verb may make a record";
                return {};
              }).isOk());
  EXPECT_EQ(Value(DirStat{12, 23, 34}), get(key::dirStat(1)));
  EXPECT_EQ(std::nullopt, get(key::dirStat(2)));
  EXPECT_EQ(Value(Quota{100, 100, 4097, 2}), get(key::dirQuota(1)));
  EXPECT_EQ(std::nullopt, get(key::dirQuota(2)));
  EXPECT_EQ(Value(Quota{-1, -1, 4096, 1}), get(key::userQuota(7)));
  EXPECT_EQ(Value(Quota{-1, -1, -4096, -1}), get(key::groupQuota(7)));
}

TEST_P(StoreTest, ParentCounts) {
  put(key::node(9), sampleAttr());
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                auto attr = sampleAttr();
                attr.parent = 0;
                t.put(key::node(9), attr);
                for (auto& [dir, name] : {std::pair(1, "a"), std::pair(1, "b"), std::pair(4, "c")}) {
                  t.insert(key::dentry(static_cast<Ino>(dir), name), Dentry{FileType::regular, 9});
                  t.add(key::parentCount(9, static_cast<Ino>(dir)), 1);
                }
                return {};
              }).isOk());
  EXPECT_EQ(2, number(key::parentCount(9, 1)));
  EXPECT_EQ((Records{{key::parentCount(9, 1), Value(int64_t{2})}, {key::parentCount(9, 4), Value(int64_t{1})}}),
            list({Kind::parentCount, 9}));
  EXPECT_EQ(2u, list({Kind::parentCount}).size());
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.erase(key::dentry(1, "a"));
                t.add(key::parentCount(9, 1), -1);
                t.insert(key::dentry(7, "z"), Dentry{FileType::regular, 9});
                t.add(key::parentCount(9, 7), 1);
                t.put(key::dentry(4, "c"), Dentry{FileType::regular, 10});
                t.erase(key::parentCount(9, 4));
                std::map<uint64_t, int64_t> seen;
                TRY(t.list({Kind::parentCount, 9}, [&](const Key& k, const Value& v) {
                  seen[k.sub] = std::get<int64_t>(v);
                  return true;
                }));
                EXPECT_EQ((std::map<uint64_t, int64_t>{{1, 1}, {7, 1}}), seen);
                TRY_ASSIGN(auto one, t.find<int64_t>(key::parentCount(9, 7)));
                EXPECT_EQ(1, one);
                TRY_ASSIGN(one, t.find<int64_t>(key::parentCount(9, 4)));
                EXPECT_EQ(std::nullopt, one);
                return {};
              }).isOk());
  EXPECT_EQ(1, number(key::parentCount(9, 1)));
  EXPECT_EQ(std::nullopt, get(key::parentCount(9, 4)));
}

TEST_P(StoreTest, ChangeLogGrowsInOrder) {
  for (auto* text : {"1|CREATE", "2|UNLINK(%C3)"})
    ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                  t.log(text);
                  return {};
                }).isOk());
  auto entries = list({Kind::changeLog});
  ASSERT_EQ(2u, entries.size());
  EXPECT_LT(entries[0].first.id, entries[1].first.id);
  EXPECT_EQ(Value(std::string("1|CREATE")), entries[0].second);
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.erase(entries[0].first);
                return {};
              }).isOk());
  EXPECT_EQ(1u, list({Kind::changeLog}).size());
  EXPECT_EQ(1u, list({Kind::changeLog, std::nullopt, entries[0].first}).size());
}

TEST_P(StoreTest, LookupFindsEntryAndNode) {
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.put(key::node(5), sampleAttr());
                t.put(key::dentry(1, "file"), Dentry{FileType::regular, 5});
                t.put(key::dentry(1, "damaged"), Dentry{FileType::regular, 404});
                return {};
              }).isOk());
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto found, t.lookup(1, "file"));
                EXPECT_TRUE(found && found->dentry.ino == 5 && found->attr == sampleAttr());
                TRY_ASSIGN(found, t.lookup(1, "damaged"));
                EXPECT_TRUE(found && !found->attr);
                TRY_ASSIGN(found, t.lookup(1, "absent"));
                EXPECT_FALSE(found);
                t.addNlink(5, 1);
                TRY_ASSIGN(found, t.lookup(1, "file"));
                EXPECT_TRUE(found && found->attr && found->attr->nlink == 8);
                t.erase(key::node(5));
                TRY_ASSIGN(found, t.lookup(1, "file"));
                EXPECT_TRUE(found && !found->attr);
                t.put(key::dentry(1, "absent"), Dentry{FileType::directory, 6});
                t.put(key::node(6), directory());
                TRY_ASSIGN(found, t.lookup(1, "absent"));
                EXPECT_TRUE(found && found->attr == directory());
                t.erase(key::dentry(1, "absent"));
                TRY_ASSIGN(found, t.lookup(1, "absent"));
                EXPECT_FALSE(found);
                return Code::interrupted;
              }).is(Code::interrupted));
}

std::vector<std::string> names(const std::vector<DirEntry>& entries) {
  std::vector<std::string> out;
  for (auto& e : entries) out.push_back(e.name);
  return out;
}

TEST_P(StoreTest, DirectoryPages) {
  std::vector<std::string> all{"A", "a", "a\x01", "aa", "b", "\xc3\xa9", "\xff"};
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                Ino ino = 10;
                for (auto& name : all) {
                  if (name != "b") t.put(key::node(ino), sampleAttr());
                  t.put(key::dentry(1, name), Dentry{FileType::regular, ino++});
                }
                t.put(key::dentry(2, "other"), Dentry{FileType::regular, 3});
                return {};
              }).isOk());
  ASSERT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) -> Status {
                std::vector<std::string> seen;
                for (;;) {
                  TRY_ASSIGN(auto page, t.listDir(1, seen.empty() ? "" : seen.back(), 2, true));
                  if (page.empty()) break;
                  EXPECT_LE(page.size(), 2u);
                  for (auto& entry : page) {
                    seen.push_back(entry.name);
                    EXPECT_EQ(entry.name != "b", entry.attr.has_value()) << entry.name;
                  }
                }
                EXPECT_EQ(all, seen);
                TRY_ASSIGN(auto plain, t.listDir(1, "aa", SIZE_MAX, false));
                EXPECT_EQ((std::vector<std::string>{"b", "\xc3\xa9", "\xff"}), names(plain));
                EXPECT_FALSE(plain[0].attr);
                return {};
              }).isOk());
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.erase(key::dentry(1, "A"));
                t.erase(key::dentry(1, "aa"));
                t.put(key::dentry(1, "ab"), Dentry{FileType::regular, 11});
                t.put(key::dentry(1, "zz"), Dentry{FileType::regular, 500});
                TRY_ASSIGN(auto page, t.listDir(1, "", 3, true));
                EXPECT_EQ((std::vector<std::string>{"a", "a\x01", "ab"}), names(page));
                EXPECT_TRUE(page[2].attr.has_value());
                TRY_ASSIGN(page, t.listDir(1, "ab", SIZE_MAX, false));
                EXPECT_EQ((std::vector<std::string>{"b", "zz", "\xc3\xa9", "\xff"}), names(page));
                TRY_ASSIGN(page, t.listDir(1, "\xff", 10, true));
                EXPECT_TRUE(page.empty());
                return Code::interrupted;
              }).is(Code::interrupted));
}

TEST_P(StoreTest, ListsAreOrderedLimitedAndResumable) {
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                for (uint64_t ino : {3, 1, 2})
                  for (uint32_t index : {2, 0, 1}) t.put(key::chunk(ino, index), SliceList{{0, ino, 1, 0, 1}});
                for (auto* name : {"b", "a"}) t.put(key::xattr(2, name), std::string(name));
                return {};
              }).isOk());
  auto keys = [&](const Range& range) {
    std::vector<std::pair<uint64_t, uint64_t>> out;
    for (auto& [key, value] : list(range)) out.emplace_back(key.id, key.sub);
    return out;
  };
  using K = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ((K{{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1}, {3, 2}}), keys({Kind::chunk}));
  EXPECT_EQ((K{{2, 0}, {2, 1}, {2, 2}}), keys({Kind::chunk, 2}));
  EXPECT_EQ((K{{1, 2}, {2, 0}}), keys({Kind::chunk, std::nullopt, key::chunk(1, 1), 2}));
  EXPECT_EQ((K{{2, 2}}), keys({Kind::chunk, 2, key::chunk(2, 1)}));
  EXPECT_EQ((K{{2, 0}}), keys({Kind::chunk, 2, key::chunk(1, 9), 1}));
  EXPECT_EQ(K{}, keys({Kind::chunk, 2, key::chunk(3, 0)}));
  EXPECT_EQ(K{}, keys({Kind::chunk, std::nullopt, std::nullopt, 0}));
  EXPECT_EQ((Records{{key::xattr(2, "b"), Value(std::string("b"))}}), list({Kind::xattr, 2, key::xattr(2, "a")}));
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                t.erase(key::chunk(1, 0));
                t.erase(key::chunk(1, 1));
                t.appendSlice(1, 7, {0, 5, 1, 0, 1});
                K seen;
                TRY(t.list({Kind::chunk, std::nullopt, std::nullopt, 3}, [&](const Key& k, const Value&) {
                  seen.emplace_back(k.id, k.sub);
                  t.erase(k);  // a visitor may write
                  return true;
                }));
                EXPECT_EQ((K{{1, 2}, {1, 7}, {2, 0}}), seen);
                seen.clear();
                TRY(t.list({Kind::chunk}, [&](const Key& k, const Value&) {
                  seen.emplace_back(k.id, k.sub);
                  return seen.size() < 2;
                }));
                EXPECT_EQ((K{{2, 1}, {2, 2}}), seen);
                return Code::interrupted;
              }).is(Code::interrupted));
}

TEST_P(StoreTest, Emptiness) {
  put(key::dentry(1, "a"), Dentry{FileType::regular, 2});
  ASSERT_TRUE(write([&](MetaTxn& t) -> Status {
                auto empty = [&](Ino dir) {
                  auto r = t.isEmpty(Kind::dentry, dir);
                  EXPECT_TRUE(r.isOk());
                  return r && *r;
                };
                EXPECT_FALSE(empty(1));
                EXPECT_TRUE(empty(2));
                t.erase(key::dentry(1, "a"));
                EXPECT_TRUE(empty(1));
                t.put(key::dentry(2, "b"), Dentry{FileType::regular, 2});
                EXPECT_FALSE(empty(2));
                t.erase(key::dentry(2, "b"));
                EXPECT_TRUE(empty(2));
                return Code::interrupted;
              }).is(Code::interrupted));
}

TEST_P(StoreTest, DatabaseEmptyAndDropped) {
  for (auto& sample : samples()) put(sample.key, sample.first);
  EXPECT_FALSE(*store_->isEmpty());
  ASSERT_TRUE(store_->drop().isOk());
  EXPECT_TRUE(*store_->isEmpty());
  EXPECT_EQ(std::nullopt, get(key::setting()));
  ASSERT_TRUE(store_->prepareSchema(true).isOk());
  EXPECT_EQ(std::nullopt, get(key::node(5)));
  put(key::node(5), sampleAttr());
  EXPECT_EQ(Value(sampleAttr()), get(key::node(5)));
}

TEST_P(StoreTest, ASecondStoreSeesWhatIsCommitted) {
  auto other = open();
  auto before = other->changeCounter();
  bool tells = before != 0;
  EXPECT_TRUE(tells || !store_->traits().embedded);
  if (tells) {
    EXPECT_EQ(before, other->changeCounter());
  }
  put(key::node(5), sampleAttr());
  if (tells) {
    EXPECT_NE(before, other->changeCounter());
  }
  auto own = store_->changeCounter();
  ASSERT_TRUE(withTxn(*other, {.operation = "test"}, [&](MetaTxn& t) -> Status {
                TRY_ASSIGN(auto seen, t.node(5));
                EXPECT_EQ(sampleAttr(), seen);
                t.put(key::node(5), directory());
                return {};
              }).isOk());
  EXPECT_EQ(Value(directory()), get(key::node(5)));
  if (tells) {
    EXPECT_NE(own, store_->changeCounter());
  }
  EXPECT_TRUE(store_->sync().isOk());
}

TEST_P(StoreTest, OwnCommitsMoveTheChangeCounter) {
  auto before = store_->changeCounter();
  if (before == 0) GTEST_SKIP() << "the store cannot tell";
  put(key::counter("x"), int64_t{1});
  EXPECT_NE(before, store_->changeCounter());
}

TEST_P(StoreTest, ReadOnlyTransactionsMayNotWrite) {
  EXPECT_EQ(Code::invalid, store_
                               ->run(
                                   [](MetaTxn& t) -> Status {
                                     t.put(key::counter("x"), int64_t{1});
                                     return {};
                                   },
                                   {.operation = "test", .readOnly = true})
                               .code());
  EXPECT_EQ(std::nullopt, get(key::counter("x")));
}

TEST_P(StoreTest, AReadOnlyViewIsConsistent) {
  bool snapshots = store_->traits().snapshots;
  put(key::counter("a"), int64_t{0});
  put(key::counter("b"), int64_t{0});
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop)
      EXPECT_TRUE(write([](MetaTxn& t) -> Status {
                    t.add(key::counter("a"), 1);
                    t.add(key::counter("b"), 1);
                    return {};
                  }).isOk());
  });
  for (int i = 0; i < 200; ++i)
    EXPECT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) -> Status {
                  const Key both[] = {key::counter("a"), key::counter("b")};
                  if (!snapshots) t.prefetch(both);  // what is read together is of one moment
                  TRY_ASSIGN(auto a, t.find<int64_t>(key::counter("a")));
                  std::this_thread::yield();
                  TRY_ASSIGN(auto b, t.find<int64_t>(key::counter("b")));
                  EXPECT_EQ(a, b);
                  return {};
                }).isOk());
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace aquifer::meta
