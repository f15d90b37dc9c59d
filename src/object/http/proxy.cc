#include "object/http/proxy.h"

#include <algorithm>

#include "base/encode.h"
#include "object/http/message.h"

namespace aquifer::object::http {

namespace {

bool isLoopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

// `list`: names separated by commas, each for itself and what lies below it; `*`: all.
bool excluded(std::string_view list, const std::string& host) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name == "*") return true;
    if (!name.empty() && name.front() == '.') name.remove_prefix(1);
    if (name.empty()) continue;
    if (host == name) return true;
    if (host.size() > name.size() && host.ends_with(name) && host[host.size() - name.size() - 1] == '.') return true;
  }
  return false;
}

}  // namespace

Result<Proxy> proxyFor(const Origin& origin, const std::function<std::string(const char*)>& environment) {
  auto either = [&](const char* small, const char* large) {
    std::string value = environment(small);
    return value.empty() ? environment(large) : value;
  };
  const std::string url = origin.tls ? either("https_proxy", "HTTPS_PROXY") : either("http_proxy", "HTTP_PROXY");
  if (url.empty() || isLoopback(origin.host) || excluded(either("no_proxy", "NO_PROXY"), origin.host)) return Proxy{};
  const Status bad(Code::config, "the proxy in the environment is not of the form http://[user:password@]host:port");
  std::string_view rest = url;
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  if (rest.find("://") != std::string_view::npos) return bad;
  rest = rest.substr(0, rest.find('/'));
  Proxy proxy;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const auto user = percentDecode(rest.substr(0, at), false);
    if (!user) return bad;
    proxy.authorization = "Basic " + base64Encode(*user);
    rest.remove_prefix(at + 1);
  }
  const size_t colon = rest.rfind(':');
  const auto port = colon == std::string_view::npos ? std::optional<uint64_t>(80) : parseNumber(rest.substr(colon + 1));
  proxy.host = std::string(rest.substr(0, colon));
  if (proxy.host.empty() || !port || *port == 0 || *port > 65535) return bad;
  proxy.port = static_cast<uint16_t>(*port);
  return proxy;
}

}  // namespace aquifer::object::http
