#include "chunk/cache/hash_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"

namespace aquifer::chunk {

namespace {

constexpr int kPoints = 100, kRounds = 5;
constexpr double kDamping = 0.75;

}  // namespace

uint32_t murmur3(std::string_view bytes) {
  constexpr uint32_t c1 = 0xcc9e2d51, c2 = 0x1b873593;
  uint32_t h = 0;
  const size_t blocks = bytes.size() / 4;
  for (size_t i = 0; i < blocks; ++i) {
    uint32_t k;
    std::memcpy(&k, bytes.data() + i * 4, 4);
    k = toLittle(k) * c1;
    h ^= std::rotl(k, 15) * c2;
    h = std::rotl(h, 13) * 5 + 0xe6546b64;
  }
  uint32_t k = 0;
  const size_t rest = bytes.size() % 4;
  for (size_t i = rest; i > 0; --i) k = k << 8 | static_cast<uint8_t>(bytes[blocks * 4 + i - 1]);
  if (rest) h ^= std::rotl(k * c1, 15) * c2;
  h ^= static_cast<uint32_t>(bytes.size());
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  h ^= h >> 16;
  return h;
}

uint32_t fnv1(std::string_view bytes) {
  uint32_t h = 0x811c9dc5;
  for (unsigned char c : bytes) h = (h * 0x01000193) ^ c;
  return h;
}

HashRing::HashRing(std::vector<std::string> ids) : ids_(std::move(ids)), counts_(ids_.size(), kPoints) {
  build();
  if (ids_.size() < 2) return;
  // With a hundred points each the shares of the circle differ by a tenth or more. Five rounds bring them closer: each gives an
  // id three quarters of the points that it seems to lack, and a lack of exactly one point is left alone. All clients do the
  // same rounds in floating point, so the arithmetic is part of the format.
  const double expect = static_cast<double>(kPoints) / static_cast<double>(kPoints * ids_.size());
  for (int round = 0; round < kRounds; ++round) {
    std::vector<uint64_t> arc(ids_.size(), 0);
    for (size_t i = 0; i < ring_.size(); ++i)
      arc[ring_[i].second] += i ? ring_[i].first - ring_[i - 1].first : ring_[i].first + (uint64_t{1} << 32) - ring_.back().first;
    bool changed = false;
    for (size_t i = 0; i < ids_.size(); ++i) {
      const double actual = static_cast<double>(arc[i]) / 4294967296.0;
      const int adjust = static_cast<int>(static_cast<double>(counts_[i]) * (expect - actual) / expect * kDamping);
      if (adjust == 1) continue;
      counts_[i] += adjust;
      changed = true;
    }
    if (!changed) return;
    build();
  }
}

void HashRing::build() {
  ring_.clear();
  for (size_t i = 0; i < ids_.size(); ++i)
    for (int j = 0; j < counts_[i]; ++j) ring_.emplace_back(murmur3(std::to_string(j) + ids_[i]), static_cast<uint32_t>(i));
  std::sort(ring_.begin(), ring_.end());
}

size_t HashRing::owner(std::string_view key) const {
  const uint32_t h = murmur3(key);
  auto it = std::lower_bound(ring_.begin(), ring_.end(), std::pair<uint32_t, uint32_t>(h, 0));
  return (it == ring_.end() ? ring_.front() : *it).second;
}

}  // namespace aquifer::chunk
