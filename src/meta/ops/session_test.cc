// Volumes and sessions: making and changing the setting, sub-directory mounts, registration, and what the dead leave behind.
#include <fcntl.h>

#include "meta/ops/testing.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {

using SessionTest = MetaTest;
INSTANTIATE_TEST_SUITE_P(Stores, SessionTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

TEST_P(SessionTest, FreshVolume) {
  auto a = attrOf(1);
  EXPECT_EQ(a.mode, 0777);
  EXPECT_EQ(a.nlink, 2u);
  EXPECT_EQ(a.length, 4096u);
  EXPECT_EQ(a.parent, 1u);
  EXPECT_EQ(usedSpace(), 0);
  EXPECT_EQ(usedInodes(), 0);
  EXPECT_FALSE(raw<Attr>(key::node(kTrashIno)));  // without trash days
  auto ino = meta_->allocateIno();
  AQ_ASSERT_OK(ino);
  EXPECT_EQ(*ino, 2u);
  EXPECT_EQ(*meta_->newSliceId(), 1u);
  EXPECT_EQ(raw<int64_t>(key::counter(counter::kNextInode)), 1026);
  EXPECT_EQ(raw<int64_t>(key::counter(counter::kNextChunk)), 4097);
}

TEST_P(SessionTest, IdsAreNeverGivenTwice) {
  auto other = another();
  std::set<Ino> seen;
  for (int i = 0; i < 2500; i++)
    for (auto* m : {meta_.get(), other.get()}) {
      auto ino = m->allocateIno();
      AQ_ASSERT_OK(ino);
      EXPECT_TRUE(seen.insert(*ino).second);
    }
  AQ_EXPECT_OK(other->closeSession());
}

TEST_P(SessionTest, WhatMayChangeInTheSetting) {
  auto refused = [&](const std::string& text, const std::function<void(Format&)>& change) {
    auto f = format_;
    change(f);
    auto s = meta_->init(f, false);
    EXPECT_EQ(s.code(), Code::config);
    EXPECT_EQ(s.text(), "update format: cannot update volume " + text);
  };
  refused("name from test to other", [](Format& f) { f.name = "other"; });
  refused("block size from 4096 to 1024", [](Format& f) { f.blockSizeKiB = 1024; });
  refused("compression from none to lz4", [](Format& f) { f.compression = "lz4"; });
  refused("hash prefix from false to true", [](Format& f) { f.hashPrefix = true; });
  auto f = format_;
  f.uuid = "00000000-0000-4000-8000-000000000000";
  f.capacity = 1 << 30;
  f.trashDays = 2;
  f.secretKey = "secret";
  AQ_ASSERT_OK(meta_->init(f, false));
  auto other = make();
  auto loaded = other->load(true);
  AQ_ASSERT_OK(loaded);
  EXPECT_EQ(loaded->uuid, format_.uuid);  // the stored identity wins
  EXPECT_EQ(loaded->capacity, 1u << 30);
  EXPECT_EQ(loaded->secretKey, "secret");
  auto stored = raw<std::string>(key::setting());
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->find("\"secret\""), std::string::npos);
  auto trash = raw<Attr>(key::node(kTrashIno));
  ASSERT_TRUE(trash);
  EXPECT_EQ(trash->mode, 0555);
}

TEST_P(SessionTest, UnformattedDatabase) {
  if (GetParam() == Backend::sqlite) url_ = "sqlite3://" + (dir_ / "other.db").string();
  else url_ = "mem://nobody_made_this";
  auto m = make();
  auto r = m->load(true);
  EXPECT_EQ(r.code(), Code::notFormatted);
  EXPECT_EQ(r.status().text(), "database is not formatted, please run `juicefs format ...` first");
}

TEST_P(SessionTest, RegistersAndLeaves) {
  auto config = quiet();
  config.mountPoint = "/mnt/x";
  config.hostName = "host";
  auto other = another(config);
  auto sid = other->sid();
  EXPECT_NE(sid, meta_->sid());
  auto record = raw<SessionRecord>(key::session(sid));
  ASSERT_TRUE(record);
  auto info = decodeSessionInfo(record->info);
  AQ_ASSERT_OK(info);
  EXPECT_EQ(info->mountPoint, "/mnt/x");
  EXPECT_EQ(info->processId, getpid());
  auto f = mk(1, "f");
  AQ_ASSERT_OK(other->flock(root, f, 1, LockType::write, false));
  EXPECT_EQ(meta_->flock(root, f, 1, LockType::write, false).code(), Code::wouldBlock);
  AQ_ASSERT_OK(other->closeSession());
  EXPECT_FALSE(raw<SessionRecord>(key::session(sid)));
  AQ_EXPECT_OK(meta_->flock(root, f, 1, LockType::write, false));
  EXPECT_EQ(count(Kind::session), 1u);
}

TEST_P(SessionTest, ClosingDeletesWhatItKeptAlive) {
  auto other = another();
  auto f = mk(1, "f");
  AQ_ASSERT_OK(other->open(root, f, O_RDWR));
  AQ_ASSERT_OK(other->unlink(root, 1, "f"));
  EXPECT_EQ(attrOf(f).nlink, 0u);
  audit();
  AQ_ASSERT_OK(other->closeSession());
  EXPECT_EQ(meta_->getattr(root, f).code(), Code::notFound);
  EXPECT_EQ(count(Kind::sustained), 0u);
}

TEST_P(SessionTest, HandOverKeepsOpenFiles) {
  auto first = another();
  auto sid = first->sid();
  auto f = mk(1, "f");
  AQ_ASSERT_OK(first->open(root, f, O_RDWR));
  AQ_ASSERT_OK(first->unlink(root, 1, "f"));
  AQ_ASSERT_OK(first->flushSession());
  first.reset();
  EXPECT_TRUE(raw<SessionRecord>(key::session(sid)));
  auto config = quiet();
  config.reuseSid = sid;
  auto second = another(config);
  EXPECT_EQ(second->sid(), sid);
  second->adoptOpen(f);
  EXPECT_EQ(attrOf(f).nlink, 0u);
  AQ_ASSERT_OK(second->close(f));
  EXPECT_EQ(meta_->getattr(root, f).code(), Code::notFound);
  AQ_EXPECT_OK(second->closeSession());
}

TEST_P(SessionTest, SubdirIsTheWholeWorld) {
  auto config = quiet();
  config.subdir = "/a/b";
  auto sub = another(config);
  auto b = inoOf(inoOf(1, "a"), "b");
  ASSERT_NE(b, 0u);
  EXPECT_EQ(sub->rootIno(), b);
  auto f = sub->mknod(root, 1, "f", FileType::regular, 0644, 0, 0);
  AQ_ASSERT_OK(f);
  EXPECT_EQ(f->attr.parent, 1u);
  EXPECT_EQ(inoOf(b, "f"), f->ino);
  EXPECT_EQ(sub->getattr(root, 1)->mode, 0777);
  auto up = sub->lookup(root, 1, "..");
  AQ_ASSERT_OK(up);
  EXPECT_EQ(up->ino, 1u);
  EXPECT_EQ(sub->lookup(root, 1, ".trash").code(), Code::notFound);
  EXPECT_EQ(sub->resolve(root, "/f")->ino, f->ino);
  auto d = sub->mknod(root, 1, "d", FileType::directory, 0755, 0, 0);
  AQ_ASSERT_OK(d);
  EXPECT_EQ(sub->lookup(root, d->ino, "..")->ino, 1u);
  AQ_EXPECT_OK(sub->closeSession());
}

TEST_P(SessionTest, ReadOnlyChangesNothing) {
  auto f = mk(1, "f");
  auto config = quiet();
  config.readOnly = true;
  auto ro = another(config);
  EXPECT_EQ(ro->sid(), 0u);
  EXPECT_EQ(ro->mknod(root, 1, "g", FileType::regular, 0644, 0, 0).code(), Code::readOnly);
  EXPECT_EQ(ro->unlink(root, 1, "f").code(), Code::readOnly);
  EXPECT_EQ(ro->open(root, f, O_WRONLY).code(), Code::readOnly);
  EXPECT_EQ(ro->setattr(root, f, {.mask = kSetMode, .mode = 0}).code(), Code::readOnly);
  AQ_EXPECT_OK(ro->open(root, f, O_RDONLY));
  EXPECT_EQ(ro->lookup(root, 1, "f")->ino, f);
  AQ_EXPECT_OK(ro->closeSession());
}

TEST_P(SessionTest, ChangeLogTellsEveryChange) {
  setFormat([](Format& f) { f.changeLog = true; });
  auto f = mk(1, "f");
  put(f, 0, 10);
  AQ_ASSERT_OK(meta_->rename(root, 1, "f", 1, "g", 0));
  AQ_ASSERT_OK(meta_->unlink(root, 1, "g"));
  std::vector<std::string> entries;
  AQ_ASSERT_OK(meta_->store().run(
      [&](MetaTxn& tx) {
        return tx.list({.kind = Kind::changeLog}, [&](const Key&, const Value& v) {
          entries.push_back(std::get<std::string>(v));
          return true;
        });
      },
      {.readOnly = true}));
  std::string all;
  for (auto& e : entries) all += e + "\n";
  for (auto op : {"|CREATE(1,f,0,0,", "|WRITE(" , "|MOVE(1,f,1,g,0,0,0):", "|UNLINK(1,g,0,false,"})
    EXPECT_NE(all.find(op), std::string::npos) << op << " is not in\n" << all;
  EXPECT_NE(entries.back().find("|(" + std::to_string(meta_->sid()) + ","), std::string::npos) << entries.back();
}

TEST_P(SessionTest, StatisticsOfTheRootAreCountedWhenMissing) {
  put(mk(1, "f"), 0, 5000);
  mkdir(1, "d");
  auto forget = [](MetaTxn& tx) -> Status {
    tx.erase(key::dirStat(kRootIno));
    return {};
  };
  AQ_ASSERT_OK(withTxn(meta_->store(), {}, forget, {}, [](MetaTxn&) -> Result<bool> { return false; }));
  auto beside = another();  // the session that is there may have changes to add: hands off
  EXPECT_FALSE(raw<DirStat>(key::dirStat(kRootIno)));
  AQ_EXPECT_OK(beside->closeSession());
  AQ_EXPECT_OK(meta_->closeSession());
  auto other = another();
  EXPECT_EQ(raw<DirStat>(key::dirStat(kRootIno)), (DirStat{5000, 8192 + 4096, 2}));
  mk(1, "g");
  EXPECT_EQ(raw<DirStat>(key::dirStat(kRootIno))->inodes, 3);
  AQ_EXPECT_OK(other->closeSession());
}

}  // namespace aquifer::meta
