// Hit rates of the cache's eviction on synthetic traces, beside LRU and the plain "older of two at random":
//   ninja cache_eviction_bench && bench/cache_eviction_bench
// The clock of the traces: 100 requests a second; a cached block is touched in several pieces, as readers do.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <list>
#include <random>
#include <unordered_map>
#include <vector>

#include "chunk/cache/cache_index.h"

namespace {

using aquifer::chunk::BlockId;

constexpr uint32_t kSize = 4096;                 // of a block; with CacheIndex::kOverhead on top
constexpr size_t kCapacity = 2000;               // blocks
constexpr size_t kRequests = 400'000;
constexpr int kPieces = 4;

class Policy {
 public:
  virtual ~Policy() = default;
  virtual bool request(uint64_t block, uint32_t now) = 0;   // true: a hit
};

class Lru : public Policy {
 public:
  bool request(uint64_t block, uint32_t) override {
    if (auto it = index_.find(block); it != index_.end()) {
      order_.splice(order_.end(), order_, it->second);
      return true;
    }
    index_[block] = order_.insert(order_.end(), block);
    if (index_.size() > kCapacity) {
      index_.erase(order_.front());
      order_.pop_front();
    }
    return false;
  }

 private:
  std::list<uint64_t> order_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> index_;
};

class TwoRandom : public Policy {
 public:
  bool request(uint64_t block, uint32_t) override {
    ++clock_;
    if (auto it = index_.find(block); it != index_.end()) {
      used_[it->second] = {block, clock_};
      return true;
    }
    if (used_.size() < kCapacity) {
      index_[block] = used_.size();
      used_.push_back({block, clock_});
      return false;
    }
    const size_t a = random_() % kCapacity, b = random_() % kCapacity, out = used_[a].second <= used_[b].second ? a : b;
    index_.erase(used_[out].first);
    index_[block] = out;
    used_[out] = {block, clock_};
    return false;
  }

 private:
  uint64_t clock_ = 0;
  std::minstd_rand random_{7};
  std::vector<std::pair<uint64_t, uint64_t>> used_;
  std::unordered_map<uint64_t, size_t> index_;
};

// What a cache directory does: up to 5 % go whenever the bound is passed.
class Ours : public Policy {
 public:
  bool request(uint64_t block, uint32_t now) override {
    const BlockId id{block, 0, kSize};
    const bool hit = index_.contains(id);
    if (!hit) index_.add(id, now);
    for (int i = 0; i < kPieces; ++i) index_.touch(id, now);
    if (index_.items() > kCapacity)
      index_.evict(aquifer::chunk::Eviction::twoRandom, UINT64_MAX, kCapacity * 95 / 100, now, 0);
    return hit;
  }

 private:
  aquifer::chunk::CacheIndex index_;
};

// Zipf(0.9) over 20,000 blocks by inversion of a table.
class Zipf {
 public:
  Zipf() {
    double sum = 0;
    for (int i = 1; i <= 20'000; ++i) cumulative_.push_back(sum += 1 / std::pow(i, 0.9));
  }
  uint64_t next() {
    const double at = std::uniform_real_distribution<double>(0, cumulative_.back())(random_);
    return static_cast<uint64_t>(std::lower_bound(cumulative_.begin(), cumulative_.end(), at) - cumulative_.begin());
  }

 private:
  std::mt19937_64 random_{11};
  std::vector<double> cumulative_;
};

double rate(Policy& policy, const std::function<uint64_t(size_t)>& trace) {
  size_t hits = 0, counted = 0;
  for (size_t i = 0; i < kRequests; ++i) {
    const bool hit = policy.request(trace(i), static_cast<uint32_t>(1'000'000 + i / 100));
    if (i < kRequests / 10) continue;   // filling
    ++counted;
    hits += hit;
  }
  return 100.0 * static_cast<double>(hits) / static_cast<double>(counted);
}

}  // namespace

int main() {
  const char* const names[] = {"zipf", "zipf + scans", "loop 1.5x"};
  std::printf("%-14s %8s %9s %8s\n", "hits, %", "LRU", "2-random", "ours");
  for (int t = 0; t < 3; ++t) {
    double out[3];
    for (int p = 0; p < 3; ++p) {
      Zipf zipf;
      uint64_t scanned = 1'000'000;
      auto trace = [&](size_t i) -> uint64_t {
        if (t == 2) return i % (kCapacity * 3 / 2);
        // Of every 20,000 requests the last 5,000 read something once.
        if (t == 1 && i % 20'000 >= 15'000) return scanned++;
        return zipf.next();
      };
      Lru lru;
      TwoRandom two;
      Ours ours;
      Policy* const policies[] = {&lru, &two, &ours};
      out[p] = rate(*policies[p], trace);
    }
    std::printf("%-14s %8.1f %9.1f %8.1f\n", names[t], out[0], out[1], out[2]);
  }
  return 0;
}
