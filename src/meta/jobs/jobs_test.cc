#include <gtest/gtest.h>

#include <thread>

#include "base/clock.h"
#include "meta/jobs/cleanup.h"
#include "meta/jobs/heartbeat.h"
#include "meta/jobs/lease.h"
#include "meta/ops/meta_impl.h"
#include "meta/ops/testing.h"

namespace aquifer::meta {
namespace {

class JobsTest : public MetaTest {
 protected:
  MetaImpl& impl() { return static_cast<MetaImpl&>(*meta_); }
  uint64_t run(std::string_view job) {
    uint64_t removed = 0;
    AQ_EXPECT_OK(meta_->runJob(job, &removed));
    return removed;
  }
  void change(const TxnBody& body) {
    AQ_ASSERT_OK(::aquifer::meta::withTxn(meta_->store(), {}, body, {}, [](MetaTxn&) -> Result<bool> { return false; }));
  }
  const GoOn always = [] { return true; };
};

TEST_P(JobsTest, onlyOneGetsTheLease) {
  if (GetParam() == Backend::memFaults) GTEST_SKIP() << "a lost answer may cost the round";
  auto other = another();
  auto& second = static_cast<MetaImpl&>(*other);
  EXPECT_TRUE(*takeLease(impl(), counter::kLastCleanupFiles, 10'000, 100));
  EXPECT_FALSE(*takeLease(second, counter::kLastCleanupFiles, 10'099, 100));
  EXPECT_TRUE(*takeLease(second, counter::kLastCleanupFiles, 10'100, 100));
  EXPECT_EQ(raw<int64_t>(key::counter(counter::kLastCleanupFiles)), 10'100);
  AQ_EXPECT_OK(other->closeSession());
}

TEST_P(JobsTest, staleSessionsAreCleaned) {
  auto other = another();
  const SessionId sid = other->sid();
  const Ino f = mk(1, "f");
  AQ_ASSERT_OK(other->open(root, f, 0));
  AQ_ASSERT_OK(other->unlink(root, 1, "f"));
  AQ_ASSERT_OK(other->flock(root, mk(1, "g"), 3, LockType::write, false));
  EXPECT_EQ(meta_->sessions()->size(), 2u);
  const auto detail = meta_->session(sid);
  AQ_ASSERT_OK(detail);
  EXPECT_EQ(detail->sustained, std::vector<Ino>{f});
  EXPECT_EQ(detail->flocks.size(), 1u);
  EXPECT_EQ(detail->info.version, "1.4.2");
  EXPECT_EQ(run("sessions"), 0u);  // not stale yet
  uint64_t removed = 0;
  AQ_ASSERT_OK(cleanStaleSessions(impl(), unixSeconds() + 100'000, always, &removed));
  EXPECT_EQ(removed, 1u);  // never the own one
  EXPECT_TRUE(meta_->session(sid).is(Code::notFound));
  EXPECT_EQ(count(Kind::flock), 0u);
  EXPECT_EQ(count(Kind::sustained), 0u);
  EXPECT_EQ(count(Kind::session), 1u);
}

TEST_P(JobsTest, deletedFilesOfADeadClient) {
  const Ino f = mk(1, "f");
  const auto a = put(f, 0, 100);
  put(f, kChunkSize, 100);
  change([&](MetaTxn& tx) -> Status {  // as a client leaves it that dies right after the unlink
    TRY_ASSIGN(const auto attr, tx.node(f));
    tx.erase(key::node(f));
    tx.erase(key::dentry(1, "f"));
    tx.put(key::delFile(f, attr.length), unixSeconds() - 100);
    return {};
  });
  std::vector<std::pair<Ino, uint64_t>> listed;
  AQ_EXPECT_OK(meta_->listDelFiles([&](Ino ino, uint64_t length, int64_t) -> Status {
    listed.emplace_back(ino, length);
    return {};
  }));
  EXPECT_EQ(listed, (std::vector<std::pair<Ino, uint64_t>>{{f, kChunkSize + 100}}));
  uint64_t removed = 0;
  AQ_ASSERT_OK(cleanDeletedFiles(impl(), unixSeconds(), 3600, always, &removed));
  EXPECT_EQ(removed, 0u);
  EXPECT_EQ(run("files"), 1u);
  EXPECT_EQ(count(Kind::chunk), 0u);
  EXPECT_EQ(count(Kind::delFile), 0u);
  std::vector<SliceId> deleted;
  meta_->setDataHooks({[&](SliceId id, uint32_t) -> Status {
                         deleted.push_back(id);
                         return {};
                       },
                       {}});
  EXPECT_EQ(meta_->pendingSlices()->size(), 2u);  // nobody could delete objects until now
  EXPECT_EQ(run("slices"), 2u);
  EXPECT_EQ(deleted.front(), a.id);
  EXPECT_TRUE(meta_->pendingSlices()->empty());
  auditAtEnd_ = false;  // the counters were bypassed above
}

TEST_P(JobsTest, aFileWithoutADeletionRecordKeepsItsData) {
  const Ino f = mk(1, "f");
  const auto a = put(f, 0, 100);
  AQ_EXPECT_OK(impl().purgeFile(f, 100));
  EXPECT_EQ(*meta_->readChunk(f, 0), SliceList{a});
}

TEST_P(JobsTest, slicesThatCannotBeDeletedDoNotHoldUpTheJob) {
  for (SliceId id : {100001, 100002, 100003})
    change([&](MetaTxn& tx) -> Status { return tx.put(key::sliceRef(id, 5), int64_t{0}), Status(); });
  meta_->setDataHooks({[](SliceId id, uint32_t) -> Status { return id == 100002 ? Status(Code::io) : Status(); }, {}});
  EXPECT_EQ(run("slices"), 2u);
  EXPECT_EQ(meta_->pendingSlices()->size(), 1u);
}

TEST_P(JobsTest, theTrashExpires) {
  setFormat([](Format& f) { f.trashDays = 1; });
  const Ino d = mkdir(1, "d");
  put(mk(d, "f"), 0, 5000);
  mk(1, "g");
  AQ_ASSERT_OK(meta_->removeAll(root, 1, "d", false, 1, {}));
  AQ_ASSERT_OK(meta_->unlink(root, 1, "g"));
  EXPECT_EQ(run("trash"), 0u);
  EXPECT_EQ(usedInodes(), 4);
  uint64_t removed = 0;
  AQ_ASSERT_OK(cleanTrash(impl(), unixSeconds() + 26 * 3600 + 3600, always, &removed));
  EXPECT_EQ(removed, 3u);
  EXPECT_EQ(usedInodes(), 0);
  EXPECT_EQ(usedSpace(), 0);
  EXPECT_TRUE(meta_->readdir(root, kTrashIno, "", 10, false)->empty());
}

TEST_P(JobsTest, theChangeLogIsTrimmed) {
  setFormat([](Format& f) {
    f.changeLog = true;
    f.changeLogMaxAge = 100;
  });
  for (int i = 0; i < 5; ++i) mk(1, "f" + std::to_string(i));
  const size_t before = count(Kind::changeLog);
  ASSERT_GE(before, 5u);
  EXPECT_EQ(run("changelog"), 0u);
  setFormat([](Format& f) { f.changeLogMaxLines = 3; });
  EXPECT_EQ(run("changelog"), before - 3);
  EXPECT_EQ(count(Kind::changeLog), 3u);
  uint64_t removed = 0;
  AQ_ASSERT_OK(cleanChangeLog(impl(), unixSeconds() + 1000, always, &removed));
  EXPECT_EQ(count(Kind::changeLog), 0u);
}

TEST_P(JobsTest, unfinishedClonesGoAfterADay) {
  const Ino d = mkdir(1, "d"), e = mkdir(d, "e");
  put(mk(e, "f"), 0, 100);
  change([&](MetaTxn& tx) -> Status {  // as if it had never been attached
    tx.erase(key::dentry(1, "d"));
    tx.addNlink(1, -1);
    tx.addDirStat(1, {0, -4096, -1});
    tx.put(key::detached(d), unixSeconds() - 3600);
    return {};
  });
  EXPECT_EQ(run("detached"), 0u);
  uint64_t removed = 0;
  AQ_ASSERT_OK(cleanDetached(impl(), unixSeconds() + 24 * 3600, always, &removed));
  EXPECT_EQ(removed, 1u);
  EXPECT_EQ(count(Kind::detached), 0u);
  EXPECT_EQ(usedInodes(), 0);
}

TEST_P(JobsTest, aHeartbeatSeesChangesAndStopsOnAnotherVolume) {
  auto other = another();
  auto& second = static_cast<MetaImpl&>(*other);
  int changes = 0;
  std::string fatal;
  other->onFormatChange([&](const Format& f) { changes += f.trashDays == 5; });
  other->onFatal([&](const std::string& why) { fatal = why; });
  setFormat([](Format& f) { f.trashDays = 5; });
  heartbeat(second);
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(other->format().trashDays, 5);
  EXPECT_EQ(fatal, "");
  change([&](MetaTxn& tx) -> Status {
    tx.erase(key::session(other->sid()));
    return {};
  });
  heartbeat(second);
  EXPECT_EQ(count(Kind::session), 2u);  // recreated
  Format replaced = format_;
  replaced.uuid[0] = '0';
  change([&](MetaTxn& tx) -> Status {
    tx.put(key::setting(), formatToJson(replaced));
    return {};
  });
  heartbeat(second);
  EXPECT_NE(fatal.find("UUID"), std::string::npos);
  EXPECT_EQ(other->format().uuid, format_.uuid);  // not adopted
  change([&](MetaTxn& tx) -> Status {
    tx.erase(key::setting());
    return {};
  });
  EXPECT_TRUE(reloadFormat(second).is(Code::config));
  AQ_EXPECT_OK(other->closeSession());
}

TEST_P(JobsTest, unknownJob) { EXPECT_TRUE(meta_->runJob("nonsense", nullptr).is(Code::invalid)); }

TEST_P(JobsTest, threadsStartAndStop) {
  MetaConfig config = quiet();
  config.noBgJob = false;
  config.heartbeat = std::chrono::milliseconds(5);
  auto other = another(config);
  const auto key = key::session(other->sid());
  change([&](MetaTxn& tx) -> Status {
    tx.erase(key);
    return {};
  });
  while (!raw<SessionRecord>(key)) std::this_thread::yield();  // a heartbeat brings it back
  AQ_EXPECT_OK(other->closeSession());
  EXPECT_FALSE(raw<SessionRecord>(key));
}

INSTANTIATE_TEST_SUITE_P(Stores, JobsTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis), backendName);

}  // namespace
}  // namespace aquifer::meta
