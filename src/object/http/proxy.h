// The proxy that http_proxy, https_proxy and no_proxy (either case) ask for. Loopback is always reached directly. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "object/http/connection.h"

namespace aquifer::object::http {

struct Proxy {
  std::string host;  // empty: none
  uint16_t port = 0;
  std::string authorization;  // of a Proxy-Authorization header, or empty
};

// `environment`: the value of a variable, or "". Errors: config.
Result<Proxy> proxyFor(const Origin& origin, const std::function<std::string(const char*)>& environment);

}  // namespace aquifer::object::http
