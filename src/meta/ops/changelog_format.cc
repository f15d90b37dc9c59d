#include <fmt/format.h>

#include "meta/model/codec.h"
#include "meta/ops/changelog.h"

namespace aquifer::meta::changelog {
namespace {

// Masks are logged with the bit that Go clients use for flags, which differs from the one in requests.
constexpr uint32_t kFlagsInRequest = 32768, kFlagsInLog = 8192;

uint32_t loggedMask(uint32_t mask) { return mask & kFlagsInRequest ? (mask & ~kFlagsInRequest) | kFlagsInLog : mask; }

char lockLetter(uint32_t type) { return type == 0 ? 'R' : type == 1 ? 'W' : 'U'; }

}  // namespace

std::string create(Ino parent, std::string_view name, uint32_t uid, uint32_t gid, FileType type, uint16_t mode, uint16_t umask,
                   std::string_view target, bool parentUpdated, Ino ino) {
  return fmt::format("CREATE({},{},{},{},{},{},{},{},linux,{}):{}", parent, escapeLog(name), uid, gid, static_cast<int>(type),
                     mode, umask, escapeLog(target), parentUpdated, ino);
}
std::string unlink(Ino parent, std::string_view name, Ino trash, bool opened, bool parentUpdated, Ino ino) {
  return fmt::format("UNLINK({},{},{},{},{}):{}", parent, escapeLog(name), trash, opened, parentUpdated, ino);
}
std::string unlinkBatch(Ino parent, std::span<const std::string> names, Ino trash, bool parentUpdated,
                        std::span<const Ino> inos) {
  std::string out = fmt::format("UNLINKBATCH({}", parent);
  for (const auto& n : names) out += "," + escapeLog(n);
  out += fmt::format(",{},{}):{}", trash, parentUpdated, fmt::join(inos, ","));
  return out;
}
std::string rmdir(Ino parent, std::string_view name, Ino trash, Ino ino) {
  return fmt::format("RMDIR({},{},{}):{}", parent, escapeLog(name), trash, ino);
}
std::string move(Ino srcParent, std::string_view srcName, Ino dstParent, std::string_view dstName, uint32_t flags, Ino target,
                 Ino trash, Ino ino) {
  return fmt::format("MOVE({},{},{},{},{},{},{}):{}", srcParent, escapeLog(srcName), dstParent, escapeLog(dstName), flags, target,
                     trash, ino);
}
std::string link(Ino ino, Ino parent, std::string_view name, bool parentUpdated, uint32_t nlink) {
  return fmt::format("LINK({},{},{},{}):{}", ino, parent, escapeLog(name), parentUpdated, nlink);
}
std::string setAttr(Ino ino, uint32_t mask, uint8_t sugidMode, const Attr& a) {
  return fmt::format("SETATTR({},{},{},{},{},{},{},{},{},{},{},{},{},{})", ino, loggedMask(mask), sugidMode, a.uid, a.gid, a.mode,
                     a.flags, a.atime.sec, a.mtime.sec, a.atime.nsec, a.mtime.nsec, a.ctime.sec, a.ctime.nsec, a.accessAcl);
}
std::string write(Ino ino, uint32_t index, const Slice& s, Time mtime, uint32_t recordCount) {
  return fmt::format("WRITE({},{},{},{},{},{},{}):{}", ino, index, s.pos, s.id, s.len, mtime.sec, mtime.nsec, recordCount);
}
std::string truncate(Ino ino, uint64_t oldLength, uint64_t newLength, uint8_t flags) {
  return fmt::format("TRUNCATE({},{},{},{})", ino, oldLength, newLength, flags);
}
std::string fallocate(Ino ino, uint64_t off, uint64_t size, uint32_t mode) {
  return fmt::format("FALLOCATE({},{},{},{})", ino, off, size, mode);
}
std::string copyFileRange(Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size, uint64_t dstLength) {
  return fmt::format("COPYFILERANGE({},{},{},{},{}):{}", src, srcOff, dst, dstOff, size, dstLength);
}
std::string clone(Ino src, Ino parent, std::string_view name, Ino ino, uint8_t mode, uint16_t umask, bool top) {
  return fmt::format("CLONE({},{},{},{},{},{},{}):{}", src, parent, escapeLog(name), ino, mode, umask, top, ino);
}
std::string attach(Ino ino, Ino parent, std::string_view name) {
  return fmt::format("ATTACH({},{},{})", ino, parent, escapeLog(name));
}
std::string cleanup(Ino ino) { return fmt::format("CLEANUP({})", ino); }
std::string setXattr(Ino ino, std::string_view name, std::string_view value, int flags) {
  return fmt::format("SETXATTR({},{},{},{})", ino, escapeLog(name), escapeLog(value), flags);
}
std::string removeXattr(Ino ino, std::string_view name) { return fmt::format("REMOVEXATTR({},{})", ino, escapeLog(name)); }
std::string setFacl(Ino ino, uint8_t aclType, const AclRule& rule) {
  return fmt::format("SETFACL({},{},{})", ino, aclType, escapeLog(encodeAclRule(rule)));
}
std::string flock(Ino ino, uint64_t owner, char type) { return fmt::format("FLOCK({},{},{})", ino, owner, type); }
std::string setLk(Ino ino, uint64_t owner, const LockRange& r) {
  return fmt::format("SETLK({},{},{},{},{},{})", ino, owner, lockLetter(r.type), r.start, r.end, r.pid);
}
std::string newSession(SessionId sid, int64_t expire, std::string_view info) {
  return fmt::format("NEWSESSION({},{},{})", sid, expire, escapeLog(info));
}
std::string cleanSession(SessionId sid) { return fmt::format("CLEANSESSION({})", sid); }
std::string delSustained(SessionId sid, Ino ino) { return fmt::format("DELSUSTAINED({},{})", sid, ino); }
std::string delChunk(Ino ino, uint32_t index) { return fmt::format("DELCHUNK({},{})", ino, index); }
std::string deleteSlice(SliceId id, uint32_t size) { return fmt::format("DELETESLICE({},{})", id, size); }
std::string compactChunk(Ino ino, uint32_t index, size_t skipped, size_t count, uint32_t pos, SliceId id, uint32_t size) {
  return fmt::format("COMPACTCHUNK({},{},{},{},{},{},{})", ino, index, skipped, count, pos, id, size);
}
std::string cleanupDelayedSlices(SliceId id, int64_t at) { return fmt::format("CLEANUP_DELAYED_SLICES({},{})", id, at); }
std::string cleanupTrashSlices(SliceId id, int64_t at) { return fmt::format("CLEANUP_TRASH_SLICES({},{})", id, at); }
std::string dirStat(Ino ino, const DirStat& s) { return fmt::format("DIRSTAT({},{},{},{})", ino, s.length, s.space, s.inodes); }
std::string setQuota(int type, uint64_t key, int64_t maxSpace, int64_t maxInodes) {
  return fmt::format("SETQUOTA({},{},{},{})", type, key, maxSpace, maxInodes);
}
std::string delQuota(int type, uint64_t key) { return fmt::format("DELQUOTA({},{})", type, key); }
std::string access(Ino ino) { return fmt::format("ACCESS({})", ino); }
std::string repairDir(Ino ino) { return fmt::format("REPAIRDIR({})", ino); }
std::string incrCounter(std::string_view name, int64_t value) {
  return fmt::format("INCR_COUNTER({},{})", escapeLog(name), value);
}
std::string set(std::string_view name, int64_t value) { return fmt::format("SET({},{})", escapeLog(name), value); }
std::string initEnableDirStats() { return "INIT_ENABLE_DIRSTATS()"; }
std::string initEnableUserGroupQuota() { return "INIT_ENABLE_USERGROUPQUOTA()"; }

}  // namespace aquifer::meta::changelog
