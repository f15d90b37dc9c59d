// Rules of POSIX ACLs on values (docs/formats/metadata.md §11). Which record holds a rule is the operations' business.
// Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "meta/model/types.h"

namespace aquifer::meta {

bool aclEmpty(const AclRule& rule);    // not a single entry: setting it removes the ACL
bool aclMinimal(const AclRule& rule);  // says no more than mode bits can: no named entries, no mask

// `mode` with its nine permission bits replaced by owner, mask (group, when there is no mask) and other of the rule.
uint16_t aclToMode(const AclRule& rule, uint16_t mode);
// chmod: owner, mask (group, when there is no mask) and other from the mode.
void aclSetMode(AclRule& rule, uint16_t mode);
// Absent owner, group and other taken from the mode.
void aclFill(AclRule& rule, uint16_t mode);
// The access rule of a child created with `mode` under a directory with this (not minimal) default rule.
AclRule aclForChild(const AclRule& dflt, uint16_t mode);

// May (uid, gids) have all of `rwx` on a node owned by ownerUid:ownerGid? Root is the caller's business.
bool aclGrants(const AclRule& rule, uint32_t uid, std::span<const uint32_t> gids, uint32_t ownerUid, uint32_t ownerGid,
               uint8_t rwx);

}  // namespace aquifer::meta
