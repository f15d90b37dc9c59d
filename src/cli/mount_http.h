// The small HTTP pages of a mount: metrics for Prometheus, and what the `debug` command asks for.
// Servers run on threads of their own until they are destroyed.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace aquifer::cli {

class StatusServer {
 public:
  virtual ~StatusServer() = default;
  virtual const std::string& address() const = 0;  // "127.0.0.1:9567"
};

// `address`: host:port, port 0 for any. `mayMove`: take another free port when this one is busy.
Result<std::unique_ptr<StatusServer>> serveMetrics(const std::string& address, bool mayMove);
// The first free port from 127.0.0.1:6060 to 6099.
Result<std::unique_ptr<StatusServer>> serveDebug();

}  // namespace aquifer::cli
