#include <gtest/gtest.h>

#include "meta/ops/testing.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {
namespace {

class QuotaAdminTest : public MetaTest {
 protected:
  QuotaKey dirKey(Ino ino) { return {Kind::dirQuota, ino}; }
  Quota stored(const QuotaKey& key) {
    auto q = meta_->getQuota(key);
    EXPECT_TRUE(q && *q);
    return q && *q ? **q : Quota();
  }
  // What another client would leave behind by crashing between two of its writes.
  void damage(const QuotaKey& key, Quota quota) {
    AQ_ASSERT_OK(::aquifer::meta::withTxn(
        meta_->store(), {},
        [&](MetaTxn& tx) -> Status {
          tx.put({key.kind, key.id, 0, {}}, quota);
          return {};
        },
        {}, [](MetaTxn&) -> Result<bool> { return false; }));
  }
};

TEST_P(QuotaAdminTest, aNewQuotaKnowsWhatIsThere) {
  const Ino d = mkdir(1, "d");
  put(mk(d, "f"), 0, 5000);
  mkdir(d, "e");
  AQ_ASSERT_OK(meta_->setQuota(dirKey(d), 1 << 20, std::nullopt, false));
  EXPECT_EQ(stored(dirKey(d)), (Quota{1 << 20, -1, 8192 + 4096, 2}));
  AQ_ASSERT_OK(meta_->setQuota(dirKey(d), std::nullopt, 3, true));  // the other limit stays
  EXPECT_EQ(stored(dirKey(d)), (Quota{1 << 20, 3, 12288, 2}));
  mk(d, "g");
  EXPECT_TRUE(meta_->mknod(root, d, "h", FileType::regular, 0644, 0, 0).is(Code::quotaExceeded));
  EXPECT_EQ(meta_->listQuotas()->size(), 1u);
  EXPECT_TRUE(*meta_->checkQuota(dirKey(d), false, true, nullptr));
  AQ_ASSERT_OK(meta_->deleteQuota(dirKey(d)));
  EXPECT_FALSE(*meta_->getQuota(dirKey(d)));
  mk(d, "h");
  AQ_EXPECT_OK(meta_->deleteQuota(dirKey(d)));
  EXPECT_TRUE(meta_->checkQuota(dirKey(d), false, false, nullptr).is(Code::notFound));
}

TEST_P(QuotaAdminTest, refusesWhatCannotBeLimited) {
  EXPECT_TRUE(meta_->setQuota(dirKey(mk(1, "f")), 1, 1, false).is(Code::notDirectory));
  EXPECT_TRUE(meta_->setQuota(dirKey(999), 1, 1, false).is(Code::notFound));
  EXPECT_TRUE(meta_->setQuota(dirKey(kTrashIno), 1, 1, false).is(Code::notPermitted));
  EXPECT_TRUE(meta_->setQuota({Kind::node, 1}, 1, 1, false).is(Code::invalid));
  setFormat([](Format& f) { f.dirStats = false; });
  EXPECT_TRUE(meta_->setQuota(dirKey(1), 1, 1, false).is(Code::config));
}

TEST_P(QuotaAdminTest, ownersAreCountedOnceLimited) {
  SetAttr to7;
  to7.mask = kSetUid | kSetGid;
  to7.uid = to7.gid = 7;
  const Ino f = mk(1, "f");
  put(f, 0, 5000);
  mk(1, "s", FileType::symlink);  // counted as well: its removal will be
  AQ_ASSERT_OK(meta_->setattr(root, f, to7));
  AQ_ASSERT_OK(meta_->setQuota({Kind::userQuota, 7}, std::nullopt, 2, false));
  EXPECT_TRUE(meta_->format().userGroupQuota);
  EXPECT_EQ(stored({Kind::userQuota, 7}), (Quota{-1, 2, 8192, 1}));
  EXPECT_EQ(stored({Kind::groupQuota, 7}), (Quota{-1, -1, 8192, 1}));
  EXPECT_EQ(stored({Kind::userQuota, 0}).usedInodes, 1);
  AQ_ASSERT_OK(meta_->unlink(root, 1, "s"));
  EXPECT_EQ(stored({Kind::userQuota, 0}).usedInodes, 0);
  EXPECT_TRUE(*meta_->checkQuota({Kind::userQuota, 7}, false, false, nullptr));
  AQ_ASSERT_OK(meta_->deleteQuota({Kind::userQuota, 7}));
  EXPECT_EQ(stored({Kind::userQuota, 7}), (Quota{-1, -1, 8192, 1}));  // goes on being counted
}

TEST_P(QuotaAdminTest, differencesAreFoundAndRepaired) {
  const Ino d = mkdir(1, "d");
  put(mk(d, "f"), 0, 5000);
  AQ_ASSERT_OK(meta_->setQuota(dirKey(d), 1 << 20, 100, false));
  damage(dirKey(d), {1 << 20, 100, 1, 77});
  std::string message;
  EXPECT_FALSE(*meta_->checkQuota(dirKey(d), false, false, &message));
  EXPECT_NE(message.find("77 -> 1"), std::string::npos) << message;
  EXPECT_EQ(stored(dirKey(d)).usedInodes, 77);
  EXPECT_FALSE(*meta_->checkQuota(dirKey(d), true, false, &message));
  EXPECT_TRUE(*meta_->checkQuota(dirKey(d), false, false, &message));
  EXPECT_EQ(stored(dirKey(d)), (Quota{1 << 20, 100, 8192, 1}));
}

INSTANTIATE_TEST_SUITE_P(Stores, QuotaAdminTest, ::testing::Values(Backend::mem, Backend::memFaults, Backend::sqlite, Backend::redis),
                         backendName);

}  // namespace
}  // namespace aquifer::meta
