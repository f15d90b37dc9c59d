#include "meta/store/sql/courtesy.h"

#include <thread>

#include "base/clock.h"

namespace aquifer::meta::sql {

namespace {

constexpr int64_t kMillis = 1'000'000;
// A gap of this length between two commits lets a foreign transaction through, so that the burst counts from its end.
constexpr int64_t kGap = 2 * kMillis;
// Looking for readers of other processes is a system call.
constexpr int64_t kLookEvery = kMillis / 5;
// How long activity is remembered.
constexpr int64_t kRemember = 3000 * kMillis;
// Bursts and least pauses: after foreign commits, and after foreign reads, which may be the vain attempts of a writer.
constexpr int64_t kBurstWriters = 6 * kMillis, kPauseWriters = 3 * kMillis;
constexpr int64_t kBurstReaders = 20 * kMillis, kPauseReaders = 2 * kMillis;
constexpr int64_t kLongestPause = 10 * kMillis;
constexpr int64_t kStep = kMillis / 4;

}  // namespace

bool Courtesy::othersActive(SqliteConnection& db, int64_t now) {
  if (now - lastLook_ >= kLookEvery) {
    lastLook_ = now;
    if (db.hasExternalReader()) foreignReader_ = now;
  }
  if (left_ != 0 && db.walChange() != left_) foreignCommit_ = now;
  auto recent = [&](int64_t seen) { return seen != 0 && now - seen < kRemember; };
  return recent(foreignCommit_) || recent(foreignReader_);
}

void Courtesy::beforeCommit(SqliteConnection& db) {
  auto now = monotonicNanos();
  if (now - lastCommit_ >= kGap) burstStart_ = now;
  if (!othersActive(db, now)) return;
  bool writers = foreignCommit_ != 0 && now - foreignCommit_ < kRemember;
  if (now - burstStart_ < (writers ? kBurstWriters : kBurstReaders)) return;
  std::this_thread::sleep_for(std::chrono::nanoseconds(writers ? kPauseWriters : kPauseReaders));
  while (monotonicNanos() - now < kLongestPause && db.hasExternalReader())
    std::this_thread::sleep_for(std::chrono::nanoseconds(kStep));
  burstStart_ = monotonicNanos();
}

void Courtesy::afterCommit(SqliteConnection& db) {
  left_ = db.walChange();
  lastCommit_ = monotonicNanos();
}

}  // namespace aquifer::meta::sql
