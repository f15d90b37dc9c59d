#include "meta/store/with_txn.h"

#include <gtest/gtest.h>

#include "meta/store/mem/mem_store.h"

namespace aquifer::meta {
namespace {

class WithTxnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int number = 0;
    name_ = "withtxn" + std::to_string(++number);
    store_ = *openMemStore(name_, {});
  }
  void TearDown() override { forgetMemStore(name_); }
  // The first `count` commits end with `code`.
  void failFirst(uint64_t count, Code code) {
    MemFaults faults;
    faults.decide = [=](std::string_view, uint64_t number) { return number <= count ? code : Code::ok; };
    setMemFaults(name_, faults);
  }
  Status increment(const RetryPolicy& policy = {}, const std::function<Result<bool>(MetaTxn&)>& confirm = {}) {
    return withTxn(
        *store_, {.operation = "test"},
        [&](MetaTxn& t) -> Status {
          ++runs_;
          TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("n")));
          t.put(key::counter("n"), n.value_or(0) + 1);
          return {};
        },
        policy, confirm);
  }
  int64_t stored() {
    int64_t out = 0;
    EXPECT_TRUE(withRead(*store_, "test", [&](MetaTxn& t) -> Status {
                  TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("n")));
                  out = n.value_or(0);
                  return {};
                }).isOk());
    return out;
  }
  std::string name_;
  std::unique_ptr<MetaStore> store_;
  int runs_ = 0;
};

TEST_F(WithTxnTest, ConflictsAreRunAgain) {
  failFirst(5, Code::conflict);
  EXPECT_TRUE(increment().isOk());
  EXPECT_EQ(6, runs_);
  EXPECT_EQ(1, stored());
}

TEST_F(WithTxnTest, EndlessConflictsEndAsIo) {
  failFirst(1000, Code::conflict);
  auto s = increment({.maxAttempts = 7});
  EXPECT_EQ(Code::io, s.code());
  EXPECT_NE(std::string::npos, s.text().find("test: gave up after 7 attempts"));
  EXPECT_EQ(7, runs_);
  EXPECT_EQ(0, stored());
}

TEST_F(WithTxnTest, TheBodysOwnErrorIsFinal) {
  int runs = 0;
  EXPECT_EQ(Code::notEmpty, withTxn(*store_, {}, [&](MetaTxn&) -> Status {
                              ++runs;
                              return Code::notEmpty;
                            }).code());
  EXPECT_EQ(1, runs);
}

TEST_F(WithTxnTest, UnavailableWaitsUntilTheDeadline) {
  failFirst(2, Code::unavailable);
  EXPECT_TRUE(increment().isOk());
  EXPECT_EQ(3, runs_);
  failFirst(1'000'000, Code::unavailable);
  EXPECT_EQ(Code::io, increment({.maxAttempts = 2, .deadlineMs = 20}).code());
  EXPECT_GT(runs_, 5) << "attempts are not what bounds it";
  EXPECT_EQ(1, stored());
}

TEST_F(WithTxnTest, AnUnknownOutcomeIsReportedOrConfirmed) {
  failFirst(1, Code::maybeCommitted);  // the first, an odd one, is not carried out
  EXPECT_EQ(Code::io, increment().code());
  EXPECT_EQ(0, stored());
  EXPECT_EQ(1, runs_) << "never repeated blindly";

  auto confirm = [](MetaTxn& t) -> Result<bool> {
    TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("n")));
    return n.has_value();
  };
  MemFaults faults;
  faults.decide = [](std::string_view, uint64_t number) { return number == 3 ? Code::maybeCommitted : Code::ok; };
  // Commit 2 happens; so the count starts at 1 for the confirmed case below.
  setMemFaults(name_, faults);
  EXPECT_TRUE(increment({}, confirm).isOk());
  EXPECT_EQ(1, stored());
  auto sawThat = [](MetaTxn& t) -> Result<bool> {
    TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("n")));
    return n == 2;
  };
  runs_ = 0;
  EXPECT_TRUE(increment({}, sawThat).isOk()) << "commit 3 is not carried out: not confirmed, run again";
  EXPECT_EQ(2, runs_);
  EXPECT_EQ(2, stored());

  faults.decide = [](std::string_view, uint64_t number) { return number == 6 ? Code::maybeCommitted : Code::ok; };
  setMemFaults(name_, faults);
  EXPECT_TRUE(increment().isOk());
  runs_ = 0;
  auto four = [](MetaTxn& t) -> Result<bool> {
    TRY_ASSIGN(auto n, t.find<int64_t>(key::counter("n")));
    return n == 4;
  };
  EXPECT_TRUE(increment({}, four).isOk()) << "commit 6 is carried out and confirmed";
  EXPECT_EQ(1, runs_);
  EXPECT_EQ(4, stored());
}

TEST_F(WithTxnTest, RandomFaultsLoseAndDoubleNothing) {
  setMemFaults(name_, {.conflict = 0.3, .unavailable = 0.1, .seed = 5});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(increment().isOk());
  EXPECT_EQ(100, stored());
}

}  // namespace
}  // namespace aquifer::meta
