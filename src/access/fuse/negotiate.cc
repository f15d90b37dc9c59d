#include "access/fuse/negotiate.h"

#include <algorithm>
#include <cstring>

namespace aquifer::fuse {
namespace {

constexpr uint32_t kPage = 4096, kMaxRequest = 1 << 20;

uint64_t wantedFlags(const ServerConfig& c) {
  // HANDLE_KILLPRIV_V2 stays off: with it every write of a non-root user would have to look for set-uid bits here, without it the
  // kernel does so from the attributes that it has anyway. ATOMIC_O_TRUNC stays off: truncation is then a SETATTR like any other.
  uint64_t f = kInitAsyncRead | kInitPosixLocks | kInitFileOps | kInitExportSupport | kInitBigWrites | kInitFlockLocks |
               kInitAutoInvalData | kInitReaddirplus | kInitReaddirplusAuto | kInitNoOpenSupport | kInitParallelDirops |
               kInitMaxPages | kInitCacheSymlinks | kInitIoctlDir | kInitExt | kInitHasResend | kInitHasExpireOnly;
  if (c.dontMask) f |= kInitDontMask;
  if (c.posixAcl) f |= kInitPosixAcl;
  if (c.writebackCache) f |= kInitWritebackCache;
  if (c.asyncDio) f |= kInitAsyncDio;
  return f;
}

}  // namespace

Negotiated negotiateInit(const InitIn& in, const ServerConfig& config) {
  Negotiated n;
  n.tooOld = in.major < kProtocolMajor || (in.major == kProtocolMajor && in.minor < kOldestMinor);
  const uint64_t offered = in.flags | (in.flags & kInitExt ? uint64_t{in.flags2} << 32 : 0);
  n.flags = offered & wantedFlags(config);
  // Without MAX_PAGES a request carries 32 pages at most.
  const uint32_t ceiling = n.flags & kInitMaxPages ? kMaxRequest : 32 * kPage;
  n.maxWrite = std::clamp(config.maxWrite, kPage, ceiling);
  auto& o = n.out;
  o.major = kProtocolMajor;
  o.minor = std::min(in.major > kProtocolMajor ? kProtocolMinor : in.minor, kProtocolMinor);
  o.maxReadahead = std::min(in.maxReadahead, kMaxRequest);
  o.flags = static_cast<uint32_t>(n.flags);
  o.flags2 = static_cast<uint32_t>(n.flags >> 32);
  // Bounds what read-ahead and asynchronous writes may have under way; the rest of the requests are bounded by their callers.
  o.maxBackground = 128;
  o.congestionThreshold = 96;
  o.maxWrite = n.maxWrite;
  o.timeGran = 1;
  o.maxPages = static_cast<uint16_t>((n.maxWrite + kPage - 1) / kPage);
  return n;
}

Result<InitIn> parseInit(const std::string& raw) {
  if (raw.size() != kInitRequestSize) return Status(Code::invalid, "saved INIT request has the wrong size");
  InHeader head;
  InitIn in;
  std::memcpy(&head, raw.data(), sizeof head);
  std::memcpy(&in, raw.data() + sizeof head, sizeof in);
  if (head.opcode != static_cast<uint32_t>(Op::init)) return Status(Code::invalid, "saved INIT request is none");
  return in;
}

}  // namespace aquifer::fuse
