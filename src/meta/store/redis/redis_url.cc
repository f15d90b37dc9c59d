#include "meta/store/redis/redis_url.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "base/encode.h"
#include "meta/store/password.h"

namespace aquifer::meta::redis {

namespace {

constexpr int kMaxDb = 1 << 20, kMaxConnections = 1024, kMaxMs = 3'600'000;

Status bad(std::string_view what) { return Status(Code::config, fmt::format("redis: {}", what)); }

std::optional<int> number(std::string_view text, int low, int high) {
  int n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < low || n > high) return std::nullopt;
  return n;
}

// "500ms", "30s", "5m", or plain seconds.
std::optional<int> milliseconds(std::string_view text) {
  int scale = 1000;
  auto unit = [&](std::string_view suffix, int ms) {
    if (!text.ends_with(suffix)) return false;
    text.remove_suffix(suffix.size());
    scale = ms;
    return true;
  };
  if (!unit("ms", 1) && !unit("s", 1000)) unit("m", 60'000);
  auto n = number(text, 0, kMaxMs / scale);
  return n ? std::optional(*n * scale) : std::nullopt;
}

Status setCredentials(Address& address, std::string_view text) {
  auto colon = text.find(':');
  auto user = percentDecode(text.substr(0, colon));
  auto password = colon == std::string_view::npos ? std::string() : percentDecode(text.substr(colon + 1));
  if (!user || !password) return bad("user or password holds a bad percent escape");
  address.user = *user;
  address.password = *password;
  return {};
}

Status setHost(Address& address, std::string_view text) {
  if (text.find(',') != std::string_view::npos) {
    bool sentinel = text.find(',') < text.find(':');
    return bad(sentinel ? "Sentinel (a master name and its sentinels) is not supported yet"
                        : "Cluster (a list of hosts) is not supported yet");
  }
  std::string_view port;
  if (text.starts_with('[')) {
    auto close = text.find(']');
    if (close == std::string_view::npos) return bad("a bracket is missing behind the IPv6 address");
    address.host = text.substr(1, close - 1);
    auto tail = text.substr(close + 1);
    if (!tail.empty() && tail[0] != ':') return bad("an IPv6 address is followed by something else than a port");
    port = tail.empty() ? tail : tail.substr(1);
  } else {
    auto colon = text.rfind(':');
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
    if (auto host = text.substr(0, colon); !host.empty()) address.host = host;
  }
  if (port.empty()) return {};
  auto n = number(port, 1, 65535);
  if (!n) return bad("the port is not a number from 1 to 65535");
  address.port = *n;
  return {};
}

Status setDb(Address& address, std::string_view text) {
  auto n = number(text, 0, kMaxDb);
  if (!n) return bad(fmt::format("invalid database number: {:?}", text));
  address.db = *n;
  return {};
}

Status setOption(Address& address, std::string name, std::string_view value) {
  for (auto& c : name)
    if (c == '_') c = '-';
  auto time = [&](int& ms) -> Status {
    auto n = milliseconds(value);
    if (!n) return bad(fmt::format("invalid {} duration: {:?}", name, value));
    if (*n > 0) ms = *n;
    return {};
  };
  if (name == "db") return setDb(address, value);
  if (name == "read-timeout") return time(address.readMs);
  if (name == "write-timeout") return time(address.writeMs);
  if (name == "dial-timeout") return time(address.connectMs);
  if (name == "pool-size") {
    auto n = number(value, 1, kMaxConnections);
    if (!n) return bad(fmt::format("invalid pool size: {:?}", value));
    address.connections = *n;
    return {};
  }
  // Options of the other client that tune what is built differently here: its own retries, caches and choice of replicas.
  for (std::string_view known :
       {"min-retry-backoff",   "max-retry-backoff",    "route-read",       "client-cache",      "client-cache-size",
        "client-cache-expire", "client-cache-preload", "max-retries",      "min-idle-conns",    "max-idle-conns",
        "max-active-conns",    "pool-timeout",         "pool-fifo",        "protocol",          "client-name",
        "idle-timeout",        "conn-max-idle-time",   "max-conn-age",     "conn-max-lifetime", "insecure-skip-verify",
        "tls-cert-file",       "tls-key-file",         "tls-ca-cert-file", "tls-server-name"})
    if (name == known) return {};
  return bad(fmt::format("unexpected option: {}", name));
}

}  // namespace

std::string Address::text() const {
  if (!socketPath.empty()) return fmt::format("unix://{}?db={}", socketPath, db);
  bool v6 = host.find(':') != std::string::npos;
  return fmt::format("redis://{}{}{}:{}/{}", v6 ? "[" : "", host, v6 ? "]" : "", port, db);
}

Result<Address> parseAddress(const std::string& rest, bool unixSocket) {
  Address address;
  std::string_view text = rest;
  // A password may hold a '?', so the options begin behind the last '@'.
  auto at = text.rfind('@');
  auto mark = text.find('?', at == std::string_view::npos ? 0 : at);
  std::string_view options = mark == std::string_view::npos ? std::string_view() : text.substr(mark + 1);
  text = text.substr(0, mark);
  if (at != std::string_view::npos) {
    TRY(setCredentials(address, text.substr(0, at)));
    text.remove_prefix(at + 1);
  }
  if (unixSocket) {
    auto path = percentDecode(text);
    if (!path || path->empty() || path->front() != '/') return bad("unix:// needs the absolute path of a socket");
    address.socketPath = *path;
  } else {
    auto slash = text.find('/');
    TRY(setHost(address, text.substr(0, slash)));
    auto db = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
    if (!db.empty()) TRY(setDb(address, db));
  }
  while (!options.empty()) {
    auto end = options.find('&');
    auto pair = options.substr(0, end);
    options = end == std::string_view::npos ? std::string_view() : options.substr(end + 1);
    if (pair.empty()) continue;
    auto equals = pair.find('=');
    TRY(setOption(address, std::string(pair.substr(0, equals)), equals == std::string_view::npos ? "" : pair.substr(equals + 1)));
  }
  if (address.password.empty()) address.password = passwordFromEnvironment(true);
  return address;
}

}  // namespace aquifer::meta::redis
