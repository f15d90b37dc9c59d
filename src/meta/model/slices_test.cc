#include "meta/model/slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace aquifer::meta {
namespace {

constexpr uint32_t kMiB = 1 << 20;

TEST(Paint, coversAndAdvances) {
  EXPECT_TRUE(paint({}).empty());
  EXPECT_EQ(paint({{10, 1, 100, 5, 20}}), (std::vector<Slice>{{0, 0, 10, 0, 10}, {10, 1, 100, 5, 20}}));
  // The middle of 1 is covered by 2; the head of 3 by nothing.
  EXPECT_EQ(paint({{0, 1, 30, 0, 30}, {10, 2, 10, 0, 10}}),
            (std::vector<Slice>{{0, 1, 30, 0, 10}, {10, 2, 10, 0, 10}, {20, 1, 30, 20, 10}}));
  // A hole hides data, and stays in the view even at the end.
  EXPECT_EQ(paint({{0, 1, 30, 0, 30}, {20, 0, 0, 0, 10}}), (std::vector<Slice>{{0, 1, 30, 0, 20}, {20, 0, 0, 0, 10}}));
}

TEST(Paint, clipsWhatReachesBeyondTheChunk) {
  const auto p = paint({{static_cast<uint32_t>(kChunkSize) - 1, 1, 100, 0, 100}, {0xFFFFFFFF, 2, 5, 0, 5}});
  ASSERT_EQ(p.size(), 2u);
  EXPECT_EQ(p[1], (Slice{static_cast<uint32_t>(kChunkSize) - 1, 1, 100, 0, 1}));
}

// Every byte as a reader would see it: (slice, offset in the slice), 0 = zeros.
using Bytes = std::vector<std::pair<SliceId, uint32_t>>;
Bytes flatten(const std::vector<Slice>& records, size_t size) {
  Bytes out(size);
  for (const auto& s : records)
    for (uint32_t i = 0; i < s.len; ++i) out[s.pos + i] = {s.id, s.id ? s.off + i : 0};
  return out;
}

std::vector<Slice> randomRecords(std::mt19937& rng, uint32_t size, int most) {
  std::vector<Slice> out;
  for (int n = static_cast<int>(rng() % static_cast<unsigned>(most)); n >= 0; --n) {
    Slice s;
    s.pos = static_cast<uint32_t>(rng()) % size;
    s.len = 1 + static_cast<uint32_t>(rng()) % std::min(size - s.pos, 1 + static_cast<uint32_t>(rng()) % size);
    if (rng() % 5) {
      s.id = 1 + rng() % 20;
      s.off = static_cast<uint32_t>(rng()) % 50;
      s.size = s.off + s.len + static_cast<uint32_t>(rng()) % 3;
    }
    out.push_back(s);
  }
  return out;
}

TEST(Paint, looksLikeAnArrayOfBytes) {
  std::mt19937 rng(20261201);
  for (int round = 0; round < 3000; ++round) {
    const auto records = randomRecords(rng, 200, 40);
    const auto view = paint(records);
    uint32_t end = 0, pos = 0;
    for (const auto& s : records) end = std::max(end, s.pos + s.len);
    for (const auto& s : view) {
      ASSERT_EQ(s.pos, pos);  // left to right without gaps
      ASSERT_GT(s.len, 0u);
      pos += s.len;
    }
    ASSERT_EQ(pos, end);
    ASSERT_EQ(flatten(view, 200), flatten(records, 200));
  }
}

TEST(Paint, manyRecordsStaySorted) {
  std::vector<Slice> records;
  for (uint32_t i = 0; i < 200'000; ++i) records.push_back({(i * 7919u) % (1u << 25), i + 1, 64, 0, 64});
  const auto view = paint(records);
  EXPECT_TRUE(std::is_sorted(view.begin(), view.end(), [](const Slice& a, const Slice& b) { return a.pos < b.pos; }));
}

TEST(Compaction, mergesSmallRecords) {
  const auto plan = planCompaction({{100, 1, 10, 0, 10}, {110, 2, 10, 0, 10}, {105, 3, 2, 0, 2}});
  EXPECT_EQ(plan.skipped, 0u);
  EXPECT_EQ(plan.pos, 100u);
  EXPECT_EQ(plan.size, 20u);
  EXPECT_EQ(plan.pieces.front(), (Slice{100, 1, 10, 0, 5}));
  EXPECT_EQ(plan.pieces.size(), 4u);
}

TEST(Compaction, nothingToDo) {
  EXPECT_EQ(planCompaction({}).size, 0u);
  EXPECT_EQ(planCompaction({{0, 1, 10, 0, 10}}).size, 0u);
  // Large, visible and alone after it: skipped, one record is left.
  EXPECT_EQ(planCompaction({{0, 1, 4 * kMiB, 0, 4 * kMiB}, {4 * kMiB, 2, 10, 0, 10}}).size, 0u);
}

TEST(Compaction, leavesLargeHeads) {
  const std::vector<Slice> r{{0, 1, 4 * kMiB, 0, 4 * kMiB}, {4 * kMiB, 2, 10, 0, 10}, {4 * kMiB + 10, 3, 10, 0, 10}};
  const auto plan = planCompaction(r);
  EXPECT_EQ(plan.skipped, 1u);
  EXPECT_EQ(plan.pos, 4 * kMiB);
  EXPECT_EQ(plan.size, 20u);
  // Covered in part, smaller than a fifth of the whole, or repeated: merged.
  EXPECT_EQ(planCompaction({r[0], r[1], {0, 3, 1, 0, 1}}).skipped, 0u);
  EXPECT_EQ(planCompaction({{0, 1, kMiB, 0, kMiB}, {kMiB, 2, 5 * kMiB, 0, 5 * kMiB}, {7 * kMiB, 4, 10, 0, 10}}).skipped, 0u);
  EXPECT_EQ(planCompaction({r[0], r[1], r[0]}).skipped, 0u);
}

TEST(Compaction, holes) {
  // Trimmed at both ends, kept in the middle.
  const auto plan = planCompaction({{0, 0, 0, 0, 50}, {50, 1, 10, 0, 10}, {70, 2, 10, 0, 10}, {80, 0, 0, 0, 30}});
  EXPECT_EQ(plan.pos, 50u);
  EXPECT_EQ(plan.size, 30u);
  ASSERT_EQ(plan.pieces.size(), 3u);
  EXPECT_EQ(plan.pieces[1].id, 0u);
  // Only holes: one byte stays.
  const auto empty = planCompaction({{0, 1, 50, 0, 50}, {0, 0, 0, 0, 100}});
  EXPECT_EQ(empty.size, 1u);
  EXPECT_EQ(empty.pos, 0u);
  ASSERT_EQ(empty.pieces.size(), 1u);
  EXPECT_EQ(empty.pieces[0].len, 1u);
}

TEST(Compaction, readsTheSame) {
  std::mt19937 rng(7);
  for (int round = 0; round < 2000; ++round) {
    const auto records = randomRecords(rng, 300, 12);
    const auto plan = planCompaction(records);
    if (!plan.size) continue;
    // What the merged slice holds, laid over the skipped records, reads as before.
    std::vector<Slice> after(records.begin(), records.begin() + static_cast<long>(plan.skipped));
    after.insert(after.end(), plan.pieces.begin(), plan.pieces.end());
    ASSERT_EQ(flatten(after, 300), flatten(records, 300));
  }
}

}  // namespace
}  // namespace aquifer::meta
