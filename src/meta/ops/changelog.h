// Entries of the change log: `OP(args)[:result]`, one function an operation (docs/formats/metadata.md §12). MetaImpl::log
// adds time and session. Names and values are given raw and escaped here. Pure functions, thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meta/model/types.h"

namespace aquifer::meta::changelog {

// umask, mode: as requested. parentUpdated: the parent's nlink or times were written.
std::string create(Ino parent, std::string_view name, uint32_t uid, uint32_t gid, FileType type, uint16_t mode, uint16_t umask,
                   std::string_view symlinkTarget, bool parentUpdated, Ino ino);
std::string unlink(Ino parent, std::string_view name, Ino trash, bool opened, bool parentUpdated, Ino ino);
std::string unlinkBatch(Ino parent, std::span<const std::string> names, Ino trash, bool parentUpdated, std::span<const Ino> inos);
std::string rmdir(Ino parent, std::string_view name, Ino trash, Ino ino);
std::string move(Ino srcParent, std::string_view srcName, Ino dstParent, std::string_view dstName, uint32_t flags, Ino target,
                 Ino trash, Ino ino);
std::string link(Ino ino, Ino parent, std::string_view name, bool parentUpdated, uint32_t nlink);
// `attr`: as it is after the change. mask: SetAttrMask.
std::string setAttr(Ino ino, uint32_t mask, uint8_t sugidMode, const Attr& attr);
std::string write(Ino ino, uint32_t index, const Slice& slice, Time mtime, uint32_t recordCount);
std::string truncate(Ino ino, uint64_t oldLength, uint64_t newLength, uint8_t flags);
std::string fallocate(Ino ino, uint64_t off, uint64_t size, uint32_t mode);
std::string copyFileRange(Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size, uint64_t dstLength);
std::string clone(Ino src, Ino parent, std::string_view name, Ino ino, uint8_t mode, uint16_t umask, bool top);
std::string attach(Ino ino, Ino parent, std::string_view name);
std::string cleanup(Ino ino);
std::string setXattr(Ino ino, std::string_view name, std::string_view value, int flags);
std::string removeXattr(Ino ino, std::string_view name);
std::string setFacl(Ino ino, uint8_t aclType, const AclRule& rule);
std::string flock(Ino ino, uint64_t owner, char type);               // 'R', 'W', 'U'
std::string setLk(Ino ino, uint64_t owner, const LockRange& range);  // type 2 = unlock
std::string newSession(SessionId sid, int64_t expire, std::string_view info);
std::string cleanSession(SessionId sid);
std::string delSustained(SessionId sid, Ino ino);
std::string delChunk(Ino ino, uint32_t index);
std::string deleteSlice(SliceId id, uint32_t size);
std::string compactChunk(Ino ino, uint32_t index, size_t skipped, size_t count, uint32_t pos, SliceId id, uint32_t size);
std::string cleanupDelayedSlices(SliceId id, int64_t at);
std::string cleanupTrashSlices(SliceId id, int64_t at);
std::string dirStat(Ino ino, const DirStat& stat);
std::string setQuota(int type, uint64_t key, int64_t maxSpace, int64_t maxInodes);  // type: 0 directory, 1 user, 2 group
std::string delQuota(int type, uint64_t key);
std::string access(Ino ino);
std::string repairDir(Ino ino);
std::string incrCounter(std::string_view name, int64_t value);  // what was added
std::string set(std::string_view name, int64_t value);
std::string initEnableDirStats();
std::string initEnableUserGroupQuota();

}  // namespace aquifer::meta::changelog
