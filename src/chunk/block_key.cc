#include <fmt/core.h>

#include <charconv>

#include "chunk/block_store.h"

namespace aquifer::chunk {

namespace {

// Digits only, in the range of T; what std::from_chars would accept as a sign is refused.
template <class T>
bool digits(std::string_view text, T* out) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string blockKey(meta::SliceId id, uint32_t index, uint32_t size, bool hashPrefix) {
  if (hashPrefix) return fmt::format("chunks/{:02X}/{}/{}_{}_{}", id % 256, id / 1'000'000, id, index, size);
  return fmt::format("chunks/{}/{}/{}_{}_{}", id / 1'000'000, id / 1'000, id, index, size);
}

bool parseBlockKey(std::string_view key, meta::SliceId* id, uint32_t* index, uint32_t* size) {
  if (auto slash = key.rfind('/'); slash != std::string_view::npos) key.remove_prefix(slash + 1);
  const auto first = key.find('_');
  if (first == std::string_view::npos) return false;
  const auto second = key.find('_', first + 1);
  if (second == std::string_view::npos) return false;
  meta::SliceId i = 0;
  uint32_t n = 0, s = 0;
  if (!digits(key.substr(0, first), &i) || !digits(key.substr(first + 1, second - first - 1), &n) ||
      !digits(key.substr(second + 1), &s))
    return false;
  *id = i, *index = n, *size = s;
  return true;
}

}  // namespace aquifer::chunk
