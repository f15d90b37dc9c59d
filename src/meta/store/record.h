// The records of the metadata: what a transaction reads and writes. A Key names one record, a Value is its content.
// Stores map each Kind to their own layout (tables, hashes, byte keys); operations never see layouts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "meta/model/types.h"

namespace aquifer::meta {

enum class Kind : uint8_t {
  setting,     // name               -> string (JSON)
  counter,     // name               -> int64
  node,        // id = inode         -> Attr
  dentry,      // id = parent, name  -> Dentry
  chunk,       // id = inode, sub = chunk index -> SliceList, oldest first
  sliceRef,    // id = slice, sub = size        -> int64: number of holders (1 = one record refers to it; stores that keep "holders - 1" convert)
  symlink,     // id = inode         -> string
  xattr,       // id = inode, name   -> string
  parentCount, // id = inode, sub = parent -> int64: links from that parent; only while attr.parent is 0.
               //   SQL stores derive it from their dentries: writes are then no-ops there.
  session,     // id = sid           -> SessionRecord
  sustained,   // id = sid, sub = inode -> present (monostate is not used: int64 1)
  delFile,     // id = inode, sub = length -> int64 unix seconds of deletion
  delSlices,   // id = new slice id of the compaction, sub = unix seconds -> DelayedList
  dirStat,     // id = inode         -> DirStat
  dirQuota,    // id = inode         -> Quota
  userQuota,   // id = uid           -> Quota
  groupQuota,  // id = gid           -> Quota
  acl,         // id = rule id       -> AclRule
  flock,       // id = inode         -> FlockTable: all holders
  plock,       // id = inode         -> PlockTable: all holders
  detached,    // id = inode         -> int64 unix seconds
  changeLog,   // id = version       -> string; append-only through MetaTxn::log
};

struct Key {
  Kind kind = Kind::setting;
  uint64_t id = 0, sub = 0;
  std::string name;
  auto operator<=>(const Key&) const = default;
};

namespace key {
inline Key setting(std::string_view n = "format") { return {Kind::setting, 0, 0, std::string(n)}; }
inline Key counter(std::string_view n) { return {Kind::counter, 0, 0, std::string(n)}; }
inline Key node(Ino i) { return {Kind::node, i, 0, {}}; }
inline Key dentry(Ino p, std::string_view n) { return {Kind::dentry, p, 0, std::string(n)}; }
inline Key chunk(Ino i, uint32_t index) { return {Kind::chunk, i, index, {}}; }
inline Key sliceRef(SliceId s, uint32_t size) { return {Kind::sliceRef, s, size, {}}; }
inline Key symlink(Ino i) { return {Kind::symlink, i, 0, {}}; }
inline Key xattr(Ino i, std::string_view n) { return {Kind::xattr, i, 0, std::string(n)}; }
inline Key parentCount(Ino i, Ino parent) { return {Kind::parentCount, i, parent, {}}; }
inline Key session(SessionId s) { return {Kind::session, s, 0, {}}; }
inline Key sustained(SessionId s, Ino i) { return {Kind::sustained, s, i, {}}; }
inline Key delFile(Ino i, uint64_t length) { return {Kind::delFile, i, length, {}}; }
inline Key delSlices(SliceId s, int64_t at) { return {Kind::delSlices, s, static_cast<uint64_t>(at), {}}; }
inline Key dirStat(Ino i) { return {Kind::dirStat, i, 0, {}}; }
inline Key dirQuota(Ino i) { return {Kind::dirQuota, i, 0, {}}; }
inline Key userQuota(uint32_t uid) { return {Kind::userQuota, uid, 0, {}}; }
inline Key groupQuota(uint32_t gid) { return {Kind::groupQuota, gid, 0, {}}; }
inline Key acl(uint32_t id) { return {Kind::acl, id, 0, {}}; }
inline Key flock(Ino i) { return {Kind::flock, i, 0, {}}; }
inline Key plock(Ino i) { return {Kind::plock, i, 0, {}}; }
inline Key detached(Ino i) { return {Kind::detached, i, 0, {}}; }
}  // namespace key

using SliceList = std::vector<Slice>;
using DelayedList = std::vector<DelayedSlice>;
using FlockTable = std::vector<FlockEntry>;
using PlockTable = std::vector<PlockEntry>;
using Value = std::variant<int64_t, std::string, Attr, Dentry, SliceList, DelayedList, DirStat, Quota, AclRule, FlockTable,
                           PlockTable, SessionRecord>;

// Names of counters (stores that spell one differently convert).
namespace counter {
inline constexpr std::string_view kUsedSpace = "usedSpace", kTotalInodes = "totalInodes", kNextInode = "nextInode",
                                  kNextChunk = "nextChunk", kNextSession = "nextSession", kNextTrash = "nextTrash",
                                  kAclMaxId = "aclMaxId", kLastCleanupSessions = "lastCleanupSessions",
                                  kLastCleanupFiles = "lastCleanupFiles", kLastCleanupTrash = "lastCleanupTrash",
                                  kLastCleanupChangelog = "lastCleanupChangelog", kNextCleanupSlices = "nextCleanupSlices";
}

}  // namespace aquifer::meta
