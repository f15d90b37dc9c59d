#include "object/shard_pattern.h"

namespace aquifer::object {

Result<std::string> shardBucket(const std::string& pattern, int shard) {
  const auto wrong = [&] { return Status(Code::config, "the bucket of a sharded volume needs one %d: " + pattern); };
  std::string out;
  int numbers = 0;
  for (size_t i = 0; i < pattern.size(); i++) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    if (++i < pattern.size() && pattern[i] == '%') {
      out += '%';
      continue;
    }
    const char fill = i < pattern.size() && pattern[i] == '0' ? '0' : ' ';
    size_t width = 0;
    for (; i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9' && width < 100; i++)
      width = width * 10 + static_cast<size_t>(pattern[i] - '0');
    if (i >= pattern.size() || pattern[i] != 'd') return wrong();
    const std::string number = std::to_string(shard);
    if (number.size() < width) out.append(width - number.size(), fill);
    out += number;
    numbers++;
  }
  if (numbers != 1) return wrong();
  return out;
}

}  // namespace aquifer::object
