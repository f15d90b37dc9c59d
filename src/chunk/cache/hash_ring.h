// Which of several cache directories holds a block: the consistent-hash ring over their ids, as all clients of the format
// compute it. Immutable after construction, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aquifer::chunk {

uint32_t murmur3(std::string_view bytes);   // MurmurHash3 x86_32, seed 0
uint32_t fnv1(std::string_view bytes);      // FNV-1, 32 bits

class HashRing {
 public:
  explicit HashRing(std::vector<std::string> ids);
  // Index into `ids` of the owner; ids must not be empty.
  size_t owner(std::string_view key) const;
  // Virtual points of each id after the rebalance.
  const std::vector<int>& points() const { return counts_; }

 private:
  void build();
  std::vector<std::string> ids_;
  std::vector<int> counts_;
  std::vector<std::pair<uint32_t, uint32_t>> ring_;  // hash, index into ids_
};

}  // namespace aquifer::chunk
