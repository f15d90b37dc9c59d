// The INIT handshake as a function: what the kernel offers and what we want become the answer. Pure, thread-safe.
#pragma once

#include <string>

#include "access/fuse/protocol.h"
#include "access/fuse/server.h"

namespace aquifer::fuse {

struct Negotiated {
  InitOut out{};
  uint64_t flags = 0;  // those in force
  uint32_t maxWrite = 0;
  bool tooOld = false;  // protocol before 7.12: answer anyway with what we speak, then stop
};
Negotiated negotiateInit(const InitIn& in, const ServerConfig& config);

// The raw request that is kept for hand-over: header and InitIn, 104 bytes. Code::invalid when it is anything else.
Result<InitIn> parseInit(const std::string& raw);
inline constexpr size_t kInitRequestSize = sizeof(InHeader) + sizeof(InitIn);

}  // namespace aquifer::fuse
