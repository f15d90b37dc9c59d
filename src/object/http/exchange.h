// One request and its answer over one connection.
#pragma once

#include "object/http/client.h"

namespace aquifer::object::http {

struct Exchange {
  Connection& connection;
  const int64_t deadline;
  bool heard = false;      // a byte of the answer has come
  bool reusable = false;   // afterwards: the answer was read to its end, and more may follow

  // `head`: the request line and headers, with the empty line.
  Result<Response> run(const std::string& head, const Request& request);
};

}  // namespace aquifer::object::http
