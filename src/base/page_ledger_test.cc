#include "base/page_ledger.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace aquifer {
namespace {

constexpr uint64_t kMiB = 1u << 20;

class PageLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/var/tmp/aquifer-pages-XXXXXX";
    fd_ = mkostemp(name, O_CLOEXEC);
    ASSERT_GE(fd_, 0);
    path_ = name;
    struct statfs fs {};
    ASSERT_EQ(fstatfs(fd_, &fs), 0);
    if (fs.f_type == TMPFS_MAGIC) GTEST_SKIP() << "/var/tmp is in memory: its pages cannot be dropped";
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
    if (!path_.empty()) unlink(path_.c_str());
  }
  void writeMiB(uint64_t n) {
    const std::string mib(kMiB, 'x');
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(pwrite(fd_, mib.data(), mib.size(), static_cast<off_t>(i * kMiB)), static_cast<ssize_t>(kMiB));
  }
  // Pages of the first `bytes` that are in memory.
  size_t resident(uint64_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0);
    EXPECT_NE(p, MAP_FAILED);
    std::vector<unsigned char> in(bytes / 4096);
    EXPECT_EQ(mincore(p, bytes, in.data()), 0);
    munmap(p, bytes);
    size_t n = 0;
    for (unsigned char c : in) n += c & 1;
    return n;
  }

  int fd_ = -1;
  std::string path_;
};

TEST_F(PageLedgerTest, TheOldestGoesWhenMoreIsWritten) {
  PageLedger ledger(4 * kMiB, 100);
  writeMiB(4);
  for (uint64_t i = 0; i < 4; ++i) {
    ledger.reserve(kMiB);
    ledger.wrote(fd_, i * kMiB, kMiB, kMiB);
  }
  EXPECT_EQ(ledger.held(), 4 * kMiB);
  EXPECT_EQ(resident(4 * kMiB), 4 * kMiB / 4096);
  ledger.reserve(2 * kMiB);
  EXPECT_EQ(ledger.held(), 4 * kMiB);
  EXPECT_EQ(resident(2 * kMiB), 0u);
  ledger.giveBack(2 * kMiB);
  ledger.drain();
  EXPECT_EQ(ledger.held(), 0u);
  EXPECT_EQ(resident(4 * kMiB), 0u);
}

TEST_F(PageLedgerTest, AClosedOrRemovedFileIsStillItsToDrop) {
  PageLedger ledger(2 * kMiB, 100);
  writeMiB(2);
  ledger.reserve(2 * kMiB);
  ledger.wrote(fd_, 0, 2 * kMiB, 2 * kMiB);
  unlink(path_.c_str());
  close(fd_);
  fd_ = -1;
  ledger.reserve(kMiB);
  EXPECT_EQ(ledger.held(), kMiB);
  ledger.giveBack(kMiB);
}

TEST_F(PageLedgerTest, AWriteLargerThanTheBoundGoesAlone) {
  PageLedger ledger(kMiB, 100);
  ledger.reserve(3 * kMiB);
  EXPECT_EQ(ledger.held(), 3 * kMiB);
  std::atomic<bool> second{false};
  std::thread other([&] {
    ledger.reserve(1);
    second = true;
    ledger.giveBack(1);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(second);
  ledger.giveBack(3 * kMiB);
  other.join();
  EXPECT_EQ(ledger.held(), 0u);
}

TEST_F(PageLedgerTest, SmallFilesAreCountedInPagesAndTheirNumberIsBounded) {
  PageLedger ledger(kMiB, 8);
  writeMiB(1);
  for (uint64_t i = 0; i < 20; ++i) {
    ledger.reserve(100);
    ledger.wrote(fd_, i * 4096, 100, 100);
  }
  EXPECT_EQ(ledger.held(), 8 * 4096u);
}

TEST_F(PageLedgerTest, ManyWritersStayWithinTheBound) {
  PageLedger ledger(8 * 64 * 1024, 16);
  writeMiB(4);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> most{0};
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 50; ++i) {
        ledger.reserve(64 * 1024);
        const uint64_t now = ledger.held();
        for (uint64_t old = most; old < now && !most.compare_exchange_weak(old, now);) {
        }
        if (i % 5 == 0)
          ledger.giveBack(64 * 1024);
        else
          ledger.wrote(fd_, t * kMiB + i % 16 * 64 * 1024, 64 * 1024, 64 * 1024);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_LE(most, 8 * 64 * 1024u);
  ledger.drain();
  EXPECT_EQ(ledger.held(), 0u);
}

TEST_F(PageLedgerTest, WithoutOneNothingHappens) {
  ASSERT_EQ(PageLedger::installed(), nullptr);
  writeMiB(1);
  {
    PageGrant grant(kMiB);
    grant.wrote(fd_, 0, kMiB);
  }
  dropReadPages(fd_, 0, kMiB);
  EXPECT_EQ(resident(kMiB), kMiB / 4096);
}

TEST_F(PageLedgerTest, PagesOfOpenFilesGoOnceTheyAreClean) {
  writeMiB(1);
  ASSERT_EQ(fdatasync(fd_), 0);
  dropPagesOfOpenFiles();
  EXPECT_EQ(resident(kMiB), 0u);
}

}  // namespace
}  // namespace aquifer
