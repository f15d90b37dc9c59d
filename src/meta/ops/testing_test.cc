// The audit behind the tests of this folder.
#include "meta/ops/testing.h"

#include "base/clock.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {

namespace {

struct Everything {
  std::map<Ino, Attr> nodes;
  std::map<std::pair<Ino, std::string>, Dentry> dentries;
  std::map<Ino, DirStat> stats;
  std::map<SliceId, int64_t> held, stored;  // holders: counted, as the records say
  std::set<Ino> sustained;
  std::map<Key, Quota> quotas;
  std::map<std::string, int64_t> counters;
  bool operator==(const Everything&) const = default;
};

Status collect(MetaTxn& tx, Everything& all) {
  all = {};
  auto each = [&](Kind kind, const std::function<void(const Key&, const Value&)>& f) {
    return tx.list({.kind = kind}, [&](const Key& key, const Value& value) {
      f(key, value);
      return true;
    });
  };
  TRY(each(Kind::node, [&](auto& k, auto& v) { all.nodes[k.id] = std::get<Attr>(v); }));
  TRY(each(Kind::dentry, [&](auto& k, auto& v) { all.dentries[{k.id, k.name}] = std::get<Dentry>(v); }));
  TRY(each(Kind::dirStat, [&](auto& k, auto& v) { all.stats[k.id] = std::get<DirStat>(v); }));
  TRY(each(Kind::chunk, [&](auto&, auto& v) {
    for (auto& s : std::get<SliceList>(v))
      if (s.id != 0) all.held[s.id]++;
  }));
  TRY(each(Kind::sliceRef, [&](auto& k, auto& v) { all.stored[k.id] = std::get<int64_t>(v); }));
  TRY(each(Kind::sustained, [&](auto& k, auto&) { all.sustained.insert(k.sub); }));
  for (auto kind : {Kind::dirQuota, Kind::userQuota, Kind::groupQuota})
    TRY(each(kind, [&](auto& k, auto& v) { all.quotas[k] = std::get<Quota>(v); }));
  return each(Kind::counter, [&](auto& k, auto& v) { all.counters[k.name] = std::get<int64_t>(v); });
}

int64_t lengthOf(const Attr& a) { return a.isRegular() ? static_cast<int64_t>(a.length) : 0; }

bool isUnder(const Everything& all, Ino dir, Ino top) {
  for (int depth = 0; dir != 0 && depth < 1000; depth++) {
    if (dir == top) return true;
    if (dir == kRootIno || dir == kTrashIno) return false;
    auto it = all.nodes.find(dir);
    if (it == all.nodes.end()) return false;
    dir = it->second.parent;
  }
  return false;
}

void checkTree(const Everything& all) {
  std::map<Ino, int64_t> links, subdirs;
  std::map<Ino, DirStat> stats;
  for (auto& [place, entry] : all.dentries) {
    auto& [parent, name] = place;
    auto node = all.nodes.find(entry.ino);
    ASSERT_NE(node, all.nodes.end()) << "no node for " << parent << "/" << name;
    ASSERT_TRUE(all.nodes.contains(parent)) << "no directory for " << parent << "/" << name;
    auto& attr = node->second;
    EXPECT_EQ(attr.type, entry.type) << name;
    EXPECT_TRUE(attr.parent == 0 || attr.parent == parent) << name;
    links[entry.ino]++;
    if (attr.isDir()) subdirs[parent]++;
    auto& sum = stats[parent];
    sum.length += lengthOf(attr);
    sum.space += spaceOf(attr);
    sum.inodes++;
  }
  int64_t space = 0, inodes = 0;
  for (auto& [ino, attr] : all.nodes) {
    if (ino == kRootIno || ino == kTrashIno) continue;
    space += spaceOf(attr);
    inodes++;
    if (attr.isDir()) {
      EXPECT_EQ(links[ino], 1) << "directory " << ino;
      EXPECT_TRUE(isTrash(ino) || attr.nlink == 2 + subdirs[ino]) << "directory " << ino << " has nlink " << attr.nlink;
      EXPECT_TRUE(isUnder(all, ino, kRootIno) || isUnder(all, ino, kTrashIno)) << "directory " << ino << " is cut off";
    } else if (links[ino] == 0) {
      EXPECT_EQ(attr.nlink, 0) << ino;
      EXPECT_TRUE(all.sustained.contains(ino)) << ino;
    } else {
      EXPECT_EQ(attr.nlink, links[ino]) << ino;
    }
  }
  auto counter = [&](std::string_view name) {
    auto it = all.counters.find(std::string(name));
    return it == all.counters.end() ? 0 : it->second;
  };
  EXPECT_EQ(counter(counter::kUsedSpace), space);
  EXPECT_EQ(counter(counter::kTotalInodes), inodes);
  for (auto& [dir, stat] : all.stats) {
    auto want = stats[dir];
    EXPECT_EQ(stat.length, want.length) << "statistics of " << dir;
    EXPECT_EQ(stat.space, want.space) << "statistics of " << dir;
    EXPECT_EQ(stat.inodes, want.inodes) << "statistics of " << dir;
  }
}

void checkQuotas(const Everything& all, bool owners) {
  for (auto& [key, quota] : all.quotas) {
    if (key.kind != Kind::dirQuota && !owners) continue;
    int64_t space = 0, inodes = 0;
    if (key.kind == Kind::dirQuota) {
      for (auto& [place, entry] : all.dentries) {
        if (!isUnder(all, place.first, key.id)) continue;
        space += spaceOf(all.nodes.at(entry.ino));
        inodes++;
      }
    } else {
      for (auto& [ino, attr] : all.nodes) {
        if (ino == kRootIno || isTrash(ino)) continue;
        if ((key.kind == Kind::userQuota ? attr.uid : attr.gid) != key.id) continue;
        space += spaceOf(attr);
        inodes++;
      }
    }
    EXPECT_EQ(quota.usedSpace, space) << "quota kind " << int(key.kind) << " of " << key.id;
    EXPECT_EQ(quota.usedInodes, inodes) << "quota kind " << int(key.kind) << " of " << key.id;
  }
}

}  // namespace

Status MetaTest::withRead(MetaStore& store, std::string_view operation, const TxnBody& body) {
  return ::aquifer::meta::withRead(store, operation, body);
}

void MetaTest::audit() {
  Everything all;
  AQ_ASSERT_OK(withRead(meta_->store(), "audit", [&](MetaTxn& tx) { return collect(tx, all); }));
  // Without snapshots: until two looks agree, since files may be purged in the background.
  bool same = meta_->store().traits().snapshots;
  for (int looks = 0; !same && looks < 1000; ++looks) {
    Everything before = std::exchange(all, {});
    sleepMs(10);
    AQ_ASSERT_OK(withRead(meta_->store(), "audit", [&](MetaTxn& tx) { return collect(tx, all); }));
    same = before == all;
  }
  checkTree(all);
  checkQuotas(all, meta_->format().userGroupQuota);
  for (auto& [id, n] : all.held) {
    auto it = all.stored.find(id);
    EXPECT_EQ(it == all.stored.end() ? 1 : it->second, n) << "holders of slice " << id;
  }
}

}  // namespace aquifer::meta
