// The kernel's FUSE wire format, protocol 7.45, as far as this server speaks it: structs, opcodes and flag bits as facts.
// All integers are in the machine's byte order. A request is InHeader, the operation's struct, then names and bytes; a reply is
// OutHeader and the operation's struct or bytes. Plain values, no behaviour.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aquifer::fuse {

// Tables: a row a line.
// clang-format off

inline constexpr uint32_t kProtocolMajor = 7, kProtocolMinor = 45, kOldestMinor = 12;
inline constexpr uint64_t kRootNode = 1;
inline constexpr size_t kMinReadBuffer = 8192;
// A request that was handed out before and comes again after Notify::resend; the reply must carry the bit too.
inline constexpr uint64_t kUniqueResend = 1ull << 63;
inline constexpr uint64_t kUniqueInterrupt = 1;  // the low bit of an INTERRUPT's own number

enum class Op : uint32_t {
  lookup = 1, forget = 2, getattr = 3, setattr = 4, readlink = 5, symlink = 6, mknod = 8, mkdir = 9, unlink = 10, rmdir = 11,
  rename = 12, link = 13, open = 14, read = 15, write = 16, statfs = 17, release = 18, fsync = 20, setxattr = 21,
  getxattr = 22, listxattr = 23, removexattr = 24, flush = 25, init = 26, opendir = 27, readdir = 28, releasedir = 29,
  fsyncdir = 30, getlk = 31, setlk = 32, setlkw = 33, access = 34, create = 35, interrupt = 36, bmap = 37, destroy = 38,
  ioctl = 39, poll = 40, notifyReply = 41, batchForget = 42, fallocate = 43, readdirplus = 44, rename2 = 45, lseek = 46,
  copyFileRange = 47, setupMapping = 48, removeMapping = 49, syncfs = 50, tmpfile = 51, statx = 52, copyFileRange64 = 53,
};

// The code of an unasked-for message to the kernel: OutHeader{unique 0, error = code}.
enum class Notify : int32_t {
  poll = 1, invalInode = 2, invalEntry = 3, store = 4, retrieve = 5, remove = 6, resend = 7, incEpoch = 8, prune = 9,
};

struct InHeader {
  uint32_t len, opcode;
  uint64_t unique, nodeId;
  uint32_t uid, gid, pid;
  uint16_t totalExtLen, padding;  // extensions, in units of 8 bytes
};
struct OutHeader {
  uint32_t len;
  int32_t error;  // 0 or -errno
  uint64_t unique;
};

struct AttrOut {  // embedded in the replies below
  uint64_t ino, size, blocks;
  uint64_t atime, mtime, ctime;
  uint32_t atimeNsec, mtimeNsec, ctimeNsec;
  uint32_t mode, nlink, uid, gid, rdev, blksize, flags;
};
struct EntryOut {
  uint64_t nodeId, generation, entryValid, attrValid;
  uint32_t entryValidNsec, attrValidNsec;
  AttrOut attr;
};
struct AttrReply {
  uint64_t attrValid;
  uint32_t attrValidNsec, dummy;
  AttrOut attr;
};

struct InitIn {
  uint32_t major, minor, maxReadahead, flags, flags2;
  uint32_t unused[11];
};
struct InitOut {
  uint32_t major, minor, maxReadahead, flags;
  uint16_t maxBackground, congestionThreshold;
  uint32_t maxWrite, timeGran;
  uint16_t maxPages, mapAlignment;
  uint32_t flags2, maxStackDepth;
  uint16_t requestTimeout;  // seconds, with kInitRequestTimeout
  uint16_t unused[11];
};

struct ForgetIn { uint64_t nlookup; };
struct ForgetOne { uint64_t nodeId, nlookup; };
struct BatchForgetIn { uint32_t count, dummy; };
struct GetattrIn { uint32_t flags, dummy; uint64_t fh; };
struct SetattrIn {
  uint32_t valid, padding;
  uint64_t fh, size, lockOwner;
  uint64_t atime, mtime, ctime;
  uint32_t atimeNsec, mtimeNsec, ctimeNsec;
  uint32_t mode, unused4, uid, gid, unused5;
};
struct MknodIn { uint32_t mode, rdev, umask, padding; };
struct MkdirIn { uint32_t mode, umask; };
struct RenameIn { uint64_t newDir; };
struct Rename2In { uint64_t newDir; uint32_t flags, padding; };
struct LinkIn { uint64_t oldNodeId; };
struct OpenIn { uint32_t flags, openFlags; };
struct CreateIn { uint32_t flags, mode, umask, openFlags; };
struct OpenOut { uint64_t fh; uint32_t openFlags; int32_t backingId; };
struct ReleaseIn { uint64_t fh; uint32_t flags, releaseFlags; uint64_t lockOwner; };
struct FlushIn { uint64_t fh; uint32_t unused, padding; uint64_t lockOwner; };
struct ReadIn { uint64_t fh, offset; uint32_t size, readFlags; uint64_t lockOwner; uint32_t flags, padding; };
struct WriteIn { uint64_t fh, offset; uint32_t size, writeFlags; uint64_t lockOwner; uint32_t flags, padding; };
struct WriteOut { uint32_t size, padding; };
struct StatfsOut {
  uint64_t blocks, bfree, bavail, files, ffree;
  uint32_t bsize, namelen, frsize, padding, spare[6];
};
struct FsyncIn { uint64_t fh; uint32_t flags, padding; };
struct SetxattrIn { uint32_t size, flags; };  // the form without kInitSetxattrExt
struct GetxattrIn { uint32_t size, padding; };
struct GetxattrOut { uint32_t size, padding; };
struct FileLock { uint64_t start, end; uint32_t type, pid; };
struct LkIn { uint64_t fh, owner; FileLock lk; uint32_t flags, padding; };
struct LkOut { FileLock lk; };
struct AccessIn { uint32_t mask, padding; };
struct InterruptIn { uint64_t unique; };
struct IoctlIn { uint64_t fh; uint32_t flags, cmd; uint64_t arg; uint32_t inSize, outSize; };
struct IoctlOut { int32_t result; uint32_t flags, inIovs, outIovs; };
struct FallocateIn { uint64_t fh, offset, length; uint32_t mode, padding; };
struct LseekIn { uint64_t fh, offset; uint32_t whence, padding; };
struct LseekOut { uint64_t offset; };
struct CopyFileRangeIn { uint64_t fhIn, offIn, nodeOut, fhOut, offOut, len, flags; };
struct CopyFileRangeOut { uint64_t bytesCopied; };  // of copyFileRange64
struct Dirent { uint64_t ino, off; uint32_t nameLen, type; };  // then the name, padded to 8 bytes
struct DirentPlus { EntryOut entry; Dirent dirent; };
struct NotifyInvalInode { uint64_t ino; int64_t off, len; };
struct NotifyInvalEntry { uint64_t parent; uint32_t nameLen, flags; };  // then the name and a NUL
inline constexpr uint32_t kExpireOnly = 1;  // of NotifyInvalEntry: the kernel asks again, nothing is detached

static_assert(sizeof(InHeader) == 40 && sizeof(OutHeader) == 16 && sizeof(AttrOut) == 88 && sizeof(EntryOut) == 128);
static_assert(sizeof(InitIn) == 64 && sizeof(InitOut) == 64 && sizeof(SetattrIn) == 88 && sizeof(StatfsOut) == 80);
static_assert(sizeof(LkIn) == 48 && sizeof(WriteIn) == 40 && sizeof(Dirent) == 24 && sizeof(DirentPlus) == 152);

// InitIn/InitOut flags; from bit 32 on they stand in flags2.
enum InitFlag : uint64_t {
  kInitAsyncRead = 1ull << 0, kInitPosixLocks = 1ull << 1, kInitFileOps = 1ull << 2, kInitAtomicTrunc = 1ull << 3,
  kInitExportSupport = 1ull << 4, kInitBigWrites = 1ull << 5, kInitDontMask = 1ull << 6, kInitFlockLocks = 1ull << 10,
  kInitIoctlDir = 1ull << 11, kInitAutoInvalData = 1ull << 12, kInitReaddirplus = 1ull << 13, kInitReaddirplusAuto = 1ull << 14,
  kInitAsyncDio = 1ull << 15, kInitWritebackCache = 1ull << 16, kInitNoOpenSupport = 1ull << 17, kInitParallelDirops = 1ull << 18,
  kInitHandleKillpriv = 1ull << 19, kInitPosixAcl = 1ull << 20, kInitAbortError = 1ull << 21, kInitMaxPages = 1ull << 22,
  kInitCacheSymlinks = 1ull << 23, kInitNoOpendirSupport = 1ull << 24, kInitHandleKillprivV2 = 1ull << 28,
  kInitSetxattrExt = 1ull << 29, kInitExt = 1ull << 30, kInitHasExpireOnly = 1ull << 35, kInitDirectIoAllowMmap = 1ull << 36,
  kInitPassthrough = 1ull << 37, kInitNoExportSupport = 1ull << 38, kInitHasResend = 1ull << 39, kInitRequestTimeout = 1ull << 42,
};
enum SetattrValid : uint32_t {
  kValidMode = 1 << 0, kValidUid = 1 << 1, kValidGid = 1 << 2, kValidSize = 1 << 3, kValidAtime = 1 << 4, kValidMtime = 1 << 5,
  kValidFh = 1 << 6, kValidAtimeNow = 1 << 7, kValidMtimeNow = 1 << 8, kValidLockOwner = 1 << 9, kValidCtime = 1 << 10,
};
enum OpenFlag : uint32_t {
  kOpenDirectIo = 1 << 0, kOpenKeepCache = 1 << 1, kOpenNonSeekable = 1 << 2, kOpenCacheDir = 1 << 3, kOpenNoFlush = 1 << 5,
  kOpenParallelDirectWrites = 1 << 6, kOpenPassthrough = 1 << 7,
};
inline constexpr uint32_t kGetattrFh = 1, kReleaseFlush = 1, kReleaseFlockUnlock = 2, kLkFlock = 1, kFsyncDataOnly = 1;
inline constexpr uint32_t kIoctlCompat = 1, kIoctlUnrestricted = 2, kIoctlDir = 16;

inline constexpr unsigned long kIocClone = 0x8004E500ul;  // _IOR(229, 0, u32): make this descriptor another one of the same connection

// clang-format on

}  // namespace aquifer::fuse
