// The nouns of the metadata: inodes, attributes, dentries, slices, statistics, quotas, locks, sessions.
// Plain values without locks. Meanings and numbers: docs/formats/metadata.md.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aquifer::meta {

using Ino = uint64_t;
using SliceId = uint64_t;
using SessionId = uint64_t;

inline constexpr Ino kRootIno = 1;
inline constexpr Ino kSpecialIno = 0x7FFFFFFF00000000ull;  // every inode from here on is virtual or trash
inline constexpr Ino kTrashIno = 0x7FFFFFFF10000000ull;
inline constexpr std::string_view kTrashName = ".trash";
inline constexpr bool isTrash(Ino ino) { return ino >= kTrashIno; }

inline constexpr uint64_t kChunkBits = 26;
inline constexpr uint64_t kChunkSize = 1ull << kChunkBits;               // 64 MiB
inline constexpr uint64_t chunksIn(uint64_t length) { return (length + kChunkSize - 1) >> kChunkBits; }
inline constexpr uint64_t kMaxFileSize = kChunkSize << 31;               // EFBIG from here on
inline constexpr size_t kMaxName = 255, kMaxSymlink = 4096, kMaxXattrName = 255, kMaxXattrValue = 65536;

enum class FileType : uint8_t { none = 0, regular = 1, directory, symlink, fifo, blockDevice, charDevice, socket };

// Signed seconds all the way: times before 1970 are legal. 0 <= nsec < 1e9.
struct Time {
  int64_t sec = 0;
  uint32_t nsec = 0;
  auto operator<=>(const Time&) const = default;
  int64_t nanos() const { return sec * 1'000'000'000 + nsec; }
};

enum AttrFlag : uint8_t { kFlagImmutable = 1, kFlagAppend = 2, kFlagSkipTrash = 32 };

struct Attr {
  uint8_t flags = 0;
  FileType type = FileType::none;
  uint16_t mode = 0;  // 12 bits, no type bits
  uint32_t uid = 0, gid = 0, rdev = 0;
  Time atime, mtime, ctime;
  uint32_t nlink = 0;
  uint64_t length = 0;  // bytes; directories 4096, symlinks the target's length
  Ino parent = 0;       // 0: hard-linked, parents are counted records
  uint32_t accessAcl = 0, defaultAcl = 0;  // rule ids, 0 = none
  uint8_t tier = 0;
  bool operator==(const Attr&) const = default;
  bool isDir() const { return type == FileType::directory; }
  bool isRegular() const { return type == FileType::regular; }
};

// Which fields of a node an operation decides on: a transaction is only refused if one of these has changed.
enum Fields : uint32_t {
  kFieldFlags = 1, kFieldType = 2, kFieldMode = 4, kFieldOwner = 8, kFieldTimes = 16, kFieldNlink = 32,
  kFieldLength = 64, kFieldParent = 128, kFieldAcl = 256, kFieldTier = 512, kFieldRdev = 1024,
  kFieldsAll = 2047,
  // What create, link, unlink … need to know of a parent directory: everything but times, nlink and length.
  kFieldsParent = kFieldFlags | kFieldType | kFieldMode | kFieldOwner | kFieldParent | kFieldAcl | kFieldTier,
};

struct Dentry {
  FileType type = FileType::none;
  Ino ino = 0;
  bool operator==(const Dentry&) const = default;
};

// One record of a chunk: bytes [off, off+len) of slice `id` (of `size` bytes) stand at `pos` of the chunk. id 0 = hole.
struct Slice {
  uint32_t pos = 0;
  SliceId id = 0;
  uint32_t size = 0, off = 0, len = 0;
  bool operator==(const Slice&) const = default;
};

struct DelayedSlice {
  SliceId id = 0;
  uint32_t size = 0;
  bool operator==(const DelayedSlice&) const = default;
};

// Sums over the direct children of a directory.
struct DirStat {
  int64_t length = 0, space = 0, inodes = 0;
  bool operator==(const DirStat&) const = default;
};

struct Quota {
  int64_t maxSpace = -1, maxInodes = -1;  // <= 0: no limit
  int64_t usedSpace = 0, usedInodes = 0;
  bool operator==(const Quota&) const = default;
};

// rights: bits r=4 w=2 x=1; 0xFFFF = the entry is absent.
struct AclEntry {
  uint32_t id = 0;
  uint16_t rights = 0;
  bool operator==(const AclEntry&) const = default;
};
struct AclRule {
  static constexpr uint16_t kAbsent = 0xFFFF;
  uint16_t owner = kAbsent, group = kAbsent, mask = kAbsent, other = kAbsent;
  std::vector<AclEntry> users, groups;
  bool operator==(const AclRule&) const = default;
};

struct FlockEntry {
  SessionId sid = 0;
  uint64_t owner = 0;
  char type = 'R';  // 'R' or 'W'
  bool operator==(const FlockEntry&) const = default;
};
// A locked range, `end` inclusive. type: Linux' F_RDLCK 0, F_WRLCK 1 (F_UNLCK 2 is never stored).
struct LockRange {
  uint32_t type = 0, pid = 0;
  uint64_t start = 0, end = 0;
  bool operator==(const LockRange&) const = default;
};
struct PlockEntry {
  SessionId sid = 0;
  uint64_t owner = 0;
  std::vector<LockRange> ranges;  // sorted by start, not overlapping
  bool operator==(const PlockEntry&) const = default;
};

struct SessionRecord {
  int64_t expire = 0;  // unix seconds; legacy records: last heartbeat
  std::string info;    // JSON, see codec.h
  bool legacy = false;
  bool operator==(const SessionRecord&) const = default;
};

// Bytes that count as used for a node: files round up to 4 KiB with at least one, everything else is 4 KiB.
inline constexpr int64_t alignSpace(uint64_t length) {
  return length == 0 ? 4096 : static_cast<int64_t>((length + 4095) / 4096 * 4096);
}
inline constexpr int64_t spaceOf(const Attr& a) { return alignSpace(a.type == FileType::regular ? a.length : 0); }

}  // namespace aquifer::meta
