// Byte encodings shared by the stores (docs/formats/metadata.md §3): attributes, dentries, slices, ACL rules, lock ranges.
// Decoders check every length and return Code::corrupt; they never read past their input. Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "meta/model/types.h"

namespace aquifer::meta {

std::string encodeAttr(const Attr& attr);                      // 72, 73, 80 or 81 bytes
Result<Attr> decodeAttr(std::string_view bytes);
std::string encodeDentry(const Dentry& d);                     // 9 bytes
Result<Dentry> decodeDentry(std::string_view bytes);
void encodeSlice(std::string& out, const Slice& s);            // 24 bytes
std::string encodeSlices(const std::vector<Slice>& slices);
Result<std::vector<Slice>> decodeSlices(std::string_view bytes);
std::string encodeDelayed(const std::vector<DelayedSlice>& slices);  // 12 bytes each
Result<std::vector<DelayedSlice>> decodeDelayed(std::string_view bytes);
std::string encodeLockRanges(const std::vector<LockRange>& ranges);  // 24 bytes each
Result<std::vector<LockRange>> decodeLockRanges(std::string_view bytes);
std::string encodeAclRule(const AclRule& rule);                // §3.7, KV form
Result<AclRule> decodeAclRule(std::string_view bytes);
std::string encodeAclEntries(const std::vector<AclEntry>& e);  // SQL form: 6 bytes each, no count
Result<std::vector<AclEntry>> decodeAclEntries(std::string_view bytes);

// Linux' system.posix_acl_* value <-> rule. decode: Code::invalid for duplicate base tags, missing mask with named entries, bad version or length.
std::string encodePosixAcl(const AclRule& rule);
Result<AclRule> decodePosixAcl(std::string_view bytes);

struct SessionInfo {
  std::string version, hostName, mountPoint, mountTime;  // mountTime: RFC 3339 with nanoseconds
  std::vector<std::string> ipAddrs;
  int64_t processId = 0;
};
std::string encodeSessionInfo(const SessionInfo& info);        // JSON, keys as the Go client has them
Result<SessionInfo> decodeSessionInfo(std::string_view json);

// %XX escape of change-log arguments.
std::string escapeLog(std::string_view bytes);

}  // namespace aquifer::meta
