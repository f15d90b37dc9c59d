#include "meta/model/acl.h"

#include <algorithm>

#include "base/bytes.h"
#include "meta/model/codec.h"

namespace aquifer::meta {
namespace {

constexpr size_t kEntryBytes = 6;

void appendEntries(std::string& out, const std::vector<AclEntry>& entries) {
  for (const auto& e : entries) {
    appendBig(out, e.id);
    appendBig(out, e.rights);
  }
}

Status readEntries(ByteReader& in, size_t count, std::vector<AclEntry>& out) {
  if (count > in.left() / kEntryBytes) return Status(Code::corrupt, "ACL rule is shorter than its counts say");
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    AclEntry e;
    e.id = in.big<uint32_t>();
    e.rights = in.big<uint16_t>();
    out.push_back(e);
  }
  return {};
}

// Linux' system.posix_acl_* values.
constexpr uint32_t kPosixVersion = 2, kPosixNoId = 0xFFFFFFFF;
constexpr size_t kPosixHeader = 4, kPosixEntry = 8;
enum PosixTag : uint16_t { kUserObj = 1, kUser = 2, kGroupObj = 4, kGroup = 8, kMask = 0x10, kOther = 0x20 };

void appendPosix(std::string& out, PosixTag tag, uint16_t rights, uint32_t id) {
  appendLittle<uint16_t>(out, tag);
  appendLittle<uint16_t>(out, rights);
  appendLittle<uint32_t>(out, id);
}

Status setOnce(uint16_t& field, uint16_t rights) {
  if (field != AclRule::kAbsent) return Status(Code::invalid, "ACL holds a base entry twice");
  field = rights;
  return {};
}

bool allows(uint16_t rights, uint16_t mask, uint8_t rwx) { return (rights & mask & rwx) == rwx; }

}  // namespace

std::string encodeAclEntries(const std::vector<AclEntry>& entries) {
  std::string out;
  out.reserve(entries.size() * kEntryBytes);
  appendEntries(out, entries);
  return out;
}

Result<std::vector<AclEntry>> decodeAclEntries(std::string_view bytes) {
  if (bytes.size() % kEntryBytes) return Status(Code::corrupt, "ACL entries are not a multiple of 6 bytes");
  ByteReader in(bytes);
  std::vector<AclEntry> out;
  TRY(readEntries(in, bytes.size() / kEntryBytes, out));
  return out;
}

std::string encodeAclRule(const AclRule& rule) {
  std::string out;
  out.reserve(16 + (rule.users.size() + rule.groups.size()) * kEntryBytes);
  for (const uint16_t rights : {rule.owner, rule.group, rule.mask, rule.other}) appendBig(out, rights);
  appendBig(out, static_cast<uint32_t>(rule.users.size()));
  appendEntries(out, rule.users);
  appendBig(out, static_cast<uint32_t>(rule.groups.size()));
  appendEntries(out, rule.groups);
  return out;
}

Result<AclRule> decodeAclRule(std::string_view bytes) {
  ByteReader in(bytes);
  AclRule rule;
  for (uint16_t* field : {&rule.owner, &rule.group, &rule.mask, &rule.other}) *field = in.big<uint16_t>();
  TRY(readEntries(in, in.big<uint32_t>(), rule.users));
  TRY(readEntries(in, in.big<uint32_t>(), rule.groups));
  if (!in.ok() || in.left()) return Status(Code::corrupt, "ACL rule has a wrong length");
  return rule;
}

std::string encodePosixAcl(const AclRule& rule) {
  std::string out;
  appendLittle<uint32_t>(out, kPosixVersion);
  if (rule.owner != AclRule::kAbsent) appendPosix(out, kUserObj, rule.owner, kPosixNoId);
  for (const auto& e : rule.users) appendPosix(out, kUser, e.rights, e.id);
  if (rule.group != AclRule::kAbsent) appendPosix(out, kGroupObj, rule.group, kPosixNoId);
  for (const auto& e : rule.groups) appendPosix(out, kGroup, e.rights, e.id);
  if (rule.mask != AclRule::kAbsent) appendPosix(out, kMask, rule.mask, kPosixNoId);
  if (rule.other != AclRule::kAbsent) appendPosix(out, kOther, rule.other, kPosixNoId);
  return out;
}

Result<AclRule> decodePosixAcl(std::string_view bytes) {
  if (bytes.size() < kPosixHeader || (bytes.size() - kPosixHeader) % kPosixEntry) return Code::invalid;
  ByteReader in(bytes);
  if (in.little<uint32_t>() != kPosixVersion) return Code::invalid;
  AclRule rule;
  while (in.left()) {
    const auto tag = in.little<uint16_t>();
    const auto rights = in.little<uint16_t>();
    const auto id = in.little<uint32_t>();
    if (rights > 7) return Code::invalid;
    switch (tag) {
      case kUserObj: TRY(setOnce(rule.owner, rights)); break;
      case kGroupObj: TRY(setOnce(rule.group, rights)); break;
      case kMask: TRY(setOnce(rule.mask, rights)); break;
      case kOther: TRY(setOnce(rule.other, rights)); break;
      case kUser: rule.users.push_back({id, rights}); break;
      case kGroup: rule.groups.push_back({id, rights}); break;
      default: return Code::invalid;
    }
  }
  if (rule.mask == AclRule::kAbsent && !(rule.users.empty() && rule.groups.empty())) return Code::invalid;
  return rule;
}

bool aclEmpty(const AclRule& r) { return r == AclRule(); }
bool aclMinimal(const AclRule& r) { return r.users.empty() && r.groups.empty() && r.mask == AclRule::kAbsent; }

uint16_t aclToMode(const AclRule& r, uint16_t mode) {
  const uint16_t group = r.mask == AclRule::kAbsent ? r.group : r.mask;
  return static_cast<uint16_t>((mode & ~0777) | (r.owner & 7) << 6 | (group & 7) << 3 | (r.other & 7));
}

void aclSetMode(AclRule& r, uint16_t mode) {
  r.owner = (mode >> 6) & 7;
  (aclMinimal(r) ? r.group : r.mask) = (mode >> 3) & 7;
  r.other = mode & 7;
}

void aclFill(AclRule& r, uint16_t mode) {
  if (r.owner == AclRule::kAbsent) r.owner = (mode >> 6) & 7;
  if (r.group == AclRule::kAbsent) r.group = (mode >> 3) & 7;
  if (r.other == AclRule::kAbsent) r.other = mode & 7;
}

AclRule aclForChild(const AclRule& dflt, uint16_t mode) {
  AclRule r = dflt;
  r.owner &= (mode >> 6) & 7;
  r.mask &= (mode >> 3) & 7;
  r.other &= mode & 7;
  return r;
}

bool aclGrants(const AclRule& r, uint32_t uid, std::span<const uint32_t> gids, uint32_t ownerUid, uint32_t ownerGid,
               uint8_t rwx) {
  if (uid == ownerUid) return allows(r.owner, AclRule::kAbsent, rwx);
  for (const auto& e : r.users)
    if (e.id == uid) return allows(e.rights, r.mask, rwx);
  const auto member = [&](uint32_t gid) { return std::find(gids.begin(), gids.end(), gid) != gids.end(); };
  bool matched = false;
  if (member(ownerGid)) {
    if (allows(r.group, r.mask, rwx)) return true;
    matched = true;
  }
  for (const auto& e : r.groups) {
    if (!member(e.id)) continue;
    if (allows(e.rights, r.mask, rwx)) return true;
    matched = true;
  }
  return !matched && allows(r.other, AclRule::kAbsent, rwx);
}

}  // namespace aquifer::meta
