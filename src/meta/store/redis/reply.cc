#include "meta/store/redis/reply.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace aquifer::meta::redis {

namespace {

template <class T>
std::optional<T> parse(std::string_view text) {
  T n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

}  // namespace

std::optional<int64_t> parseInt(std::string_view text) { return parse<int64_t>(text); }
std::optional<uint64_t> parseUint(std::string_view text) { return parse<uint64_t>(text); }

std::optional<int64_t> parseScore(std::string_view text) {
  if (auto n = parseInt(text)) return n;
  std::string copy(text);
  char* end = nullptr;
  double d = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || !(std::abs(d) < 9e15)) return std::nullopt;
  return static_cast<int64_t>(d);
}

Status errorOf(std::string_view text) {
  auto message = fmt::format("redis: {}", text.substr(0, 300));
  // Inside a script the cause is wrapped in a longer text, so it is looked for anywhere.
  auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (has("OOM command not allowed")) return Status(Code::noSpace, message);
  for (std::string_view word : {"NOAUTH", "WRONGPASS", "NOPERM", "invalid password", "invalid username-password"})
    if (has(word)) return Status(Code::config, message);
  for (std::string_view word : {"LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "BUSY Redis",
                                "BUSY running", "max number of clients reached", "ERR DISABLE", "ERR NOWRITE", "ERR NOREAD"})
    if (has(word)) return Status(Code::unavailable, message);
  if (text.starts_with("MOVED ") || text.starts_with("ASK ")) return Status(Code::config, "redis: Cluster is not supported yet");
  return Status(has("WRONGTYPE") ? Code::corrupt : Code::io, message);
}

Status unexpectedReply(std::string_view what) {
  return Status(Code::corrupt, fmt::format("redis: unexpected reply to {}", what));
}

}  // namespace aquifer::meta::redis
