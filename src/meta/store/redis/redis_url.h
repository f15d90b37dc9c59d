// Where a Redis metadata engine is, from the URL forms that JuiceFS takes. The password is a secret: it goes to AUTH and nowhere
// else.
#pragma once

#include <string>

#include "base/status.h"

namespace aquifer::meta::redis {

struct Address {
  std::string host = "127.0.0.1", socketPath;  // a socket path wins
  int port = 6379;
  int db = 0;
  std::string user, password;
  int connectMs = 5000, readMs = 30'000, writeMs = 5000;
  int connections = 32;  // at most, per store

  std::string text() const;  // for messages: no user, no password
};

// `rest`: what stands behind "redis://" or, with `unixSocket`, behind "unix://". Errors are Code::config and name no secret.
//   [[user]:[password]@]host[:port][/db][?options], [user:password@]/path/of/socket[?db=N&options]
// The password comes from the URL, else REDIS_PASSWORD, META_PASSWORD, or the file that META_PASSWORD_FILE names.
Result<Address> parseAddress(const std::string& rest, bool unixSocket);

}  // namespace aquifer::meta::redis
