// The metadata of one volume: every operation of a file system, once, over any MetaStore.
//
// Thread-safe. Errors are errno codes as POSIX and docs/semantics.md say; engine trouble ends as Code::io after the retry
// budget. Operations never call back into data storage: what has to be deleted or compacted is handed to DataHooks.
// One operation (or a tight family) a file in this folder; they share `MetaImpl` (meta_impl.h).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "meta/model/codec.h"
#include "meta/model/format.h"
#include "meta/model/types.h"
#include "meta/ops/context.h"
#include "meta/store/txn.h"

namespace aquifer::meta {

struct Entry {
  Ino ino = 0;
  Attr attr;
};

enum SetAttrMask : uint32_t {
  kSetMode = 1, kSetUid = 2, kSetGid = 4, kSetSize = 8, kSetAtime = 16, kSetMtime = 32, kSetCtime = 64, kSetAtimeNow = 128,
  kSetMtimeNow = 256, kSetCtimeNow = 512, kSetTier = 1024, kSetFlags = 32768,
};
struct SetAttr {
  uint32_t mask = 0;
  uint16_t mode = 0;
  uint32_t uid = 0, gid = 0;
  Time atime, mtime, ctime;
  uint8_t tier = 0, flags = 0;
};

enum RenameFlag : uint32_t { kRenameNoReplace = 1, kRenameExchange = 2, kRenameWhiteout = 4, kRenameRestore = 32 };
enum FallocateMode : uint32_t { kFallocKeepSize = 1, kFallocPunchHole = 2, kFallocCollapse = 8, kFallocZeroRange = 16, kFallocInsert = 32 };
enum class AtimeMode { noatime, relatime, strictatime };
enum class AclType : uint8_t { access = 1, dflt = 2 };
enum class LockType : uint32_t { read = 0, write = 1, unlock = 2 };

struct StatFs {
  uint64_t totalSpace = 0, availSpace = 0, totalInodes = 0, availInodes = 0;
};
struct Summary {
  uint64_t length = 0, size = 0, files = 0, dirs = 0;
};
struct TreeSummary {
  Ino ino = 0;
  std::string path;
  FileType type = FileType::directory;
  uint64_t size = 0, files = 0, dirs = 0;
  std::vector<TreeSummary> children;
};
struct RenameResult {
  Entry moved;
  Ino replaced = 0;     // the target inode that went away or swapped, 0 if none
};
struct WriteResult {
  uint64_t length = 0;        // of the file after the commit
  uint64_t offset = 0;        // file offset where the data stands (chosen by the commit when appending)
  uint32_t recordCount = 0;   // records in the (last) chunk
};

struct MetaConfig {
  bool readOnly = false, noBgJob = false, fastStatfs = false;
  std::chrono::milliseconds heartbeat{12'000};
  AtimeMode atimeMode = AtimeMode::noatime;
  // A directory's times are left alone if they would move by less. Negative: 0 on an embedded store, where the update rides along
  // with the commit, and 100 ms elsewhere, where it would make a hot directory hotter.
  std::chrono::nanoseconds skipDirMtime{-1};
  std::string subdir;          // created if missing on writable mounts
  std::string mountPoint, hostName, version;
  std::vector<std::string> ipAddrs;
  SessionId reuseSid = 0;      // take this session over instead of creating one
  int maxDeletes = 10;         // 0: objects are not deleted by this client
  int ioRetries = 10;
};

// What metadata asks of the data side. Called without locks held, from background threads. May be empty.
struct DataHooks {
  std::function<Status(SliceId, uint32_t size)> deleteSlice;                      // remove the objects; not-found is ok
  std::function<Status(const std::vector<Slice>& pieces, SliceId newId, uint8_t tier)> compact;  // write the pieces as one new slice
};

// Progress of long operations: called now and then with running totals; return false to cancel (Code::interrupted).
using Progress = std::function<bool(uint64_t done, uint64_t total)>;

struct FsckOptions {
  std::string path = "/";
  bool repair = false, recursive = false, syncDirStat = false;
  uint16_t repairDirMode = 0755;
};
struct FsckReport {
  uint64_t checked = 0, broken = 0, repaired = 0;
  std::vector<std::string> problems;  // one line each, at most 1000 kept
};
struct SessionDetail {
  SessionId sid = 0;
  SessionRecord record;
  SessionInfo info;
  std::vector<Ino> sustained;
  std::vector<std::pair<Ino, FlockEntry>> flocks;
  std::vector<std::pair<Ino, PlockEntry>> plocks;
};
struct QuotaKey {
  Kind kind = Kind::dirQuota;  // dirQuota, userQuota, groupQuota
  uint64_t id = 0;
  auto operator<=>(const QuotaKey&) const = default;
};

// What this process knows without asking the engine: as of its last heartbeat, plus its own changes since.
struct KnownUsage {
  StatFs volume;
  uint64_t usedSpace = 0, usedInodes = 0;
  std::map<QuotaKey, Quota> quotas;
};

class Meta {
 public:
  virtual ~Meta() = default;

  // ---- volume ----
  // Write the setting of a new volume, or update an existing one (rules of metadata.md §2.1). Secrets in `format` are clear text.
  virtual Status init(const Format& format, bool force) = 0;
  virtual Result<Format> load(bool checkVersion) = 0;  // secrets decrypted. Code::notFormatted, Code::config
  virtual Format format() const = 0;                   // last loaded
  virtual MetaStore& store() = 0;

  // ---- session ----
  virtual Status openSession() = 0;      // registers, starts heartbeat and (unless noBgJob/readOnly) background jobs
  virtual Status closeSession() = 0;     // flushes, cleans own locks and sustained files, removes the session
  virtual Status flushSession() = 0;     // flushes but keeps the session (hand-over)
  virtual SessionId sid() const = 0;
  virtual Ino rootIno() const = 0;       // of the --subdir, presented as 1 to callers; all calls below take 1 for it
  virtual Result<std::vector<SessionDetail>> sessions() = 0;
  virtual Result<SessionDetail> session(SessionId sid) = 0;
  virtual void setDataHooks(DataHooks hooks) = 0;
  virtual void onFatal(std::function<void(const std::string&)> stop) = 0;       // volume gone, replaced or too new
  virtual void onFormatChange(std::function<void(const Format&)> changed) = 0;  // heartbeat saw another setting

  // ---- names ----
  virtual Result<Entry> lookup(const Context&, Ino parent, std::string_view name) = 0;
  virtual Result<Entry> resolve(const Context&, std::string_view path) = 0;  // from the root of the volume, no symlinks followed
  // Returns exists with the existing entry in *existing.
  virtual Result<Entry> mknod(const Context&, Ino parent, std::string_view name, FileType type, uint16_t mode, uint16_t umask,
                              uint32_t rdev, std::string_view symlinkTarget = {}, Entry* existing = nullptr,
                              Ino wantIno = 0 /* from allocateIno(), 0 = allocate */) = 0;
  virtual Result<Ino> allocateIno() = 0;
  virtual Result<std::string> readlink(const Context&, Ino ino) = 0;
  virtual Result<Entry> unlink(const Context&, Ino parent, std::string_view name, bool skipTrash = false) = 0;  // the removed file, after
  virtual Result<Entry> rmdir(const Context&, Ino parent, std::string_view name, bool skipTrash = false) = 0;
  virtual Result<RenameResult> rename(const Context&, Ino srcParent, std::string_view srcName, Ino dstParent, std::string_view dstName,
                                      uint32_t flags) = 0;
  virtual Result<Entry> link(const Context&, Ino ino, Ino newParent, std::string_view newName) = 0;
  // Up to `limit` entries after `afterName`, byte order. Stable under concurrent changes: nothing that stays is skipped or doubled.
  virtual Result<std::vector<DirEntry>> readdir(const Context&, Ino dir, std::string_view afterName, size_t limit, bool plus) = 0;
  virtual Result<std::vector<std::string>> paths(Ino ino) = 0;  // absolute within the volume, one per link; trash shown as /.trash/…
  // ---- attributes ----
  virtual Result<Attr> getattr(const Context&, Ino ino) = 0;     // nlink shown without links that live in the trash
  virtual Status access(const Context&, Ino ino, uint8_t rwx, const Attr* known = nullptr) = 0;
  virtual Result<Attr> setattr(const Context&, Ino ino, const SetAttr&, uint8_t sugidClearMode = 0) = 0;
  virtual Result<Attr> truncate(const Context&, Ino ino, uint64_t length, bool byHandle) = 0;
  virtual Result<Attr> fallocate(const Context&, Ino ino, uint32_t mode, uint64_t off, uint64_t size) = 0;
  virtual Status touchAtime(const Context&, Ino ino) = 0;        // after a read, as atimeMode asks
  virtual Result<std::string> getxattr(const Context&, Ino ino, std::string_view name) = 0;
  virtual Status setxattr(const Context&, Ino ino, std::string_view name, std::string_view value, int flags /* 1 create, 2 replace */) = 0;
  virtual Result<std::vector<std::string>> listxattr(const Context&, Ino ino) = 0;
  virtual Status removexattr(const Context&, Ino ino, std::string_view name) = 0;
  virtual Result<std::optional<AclRule>> getAcl(const Context&, Ino ino, AclType) = 0;
  virtual Status setAcl(const Context&, Ino ino, AclType, const AclRule& rule) = 0;  // empty rule removes
  virtual Result<StatFs> statfs(const Context&, Ino ino) = 0;
  virtual KnownUsage knownUsage() = 0;                            // for metrics: never waits for the engine
  // ---- open files and data ----
  virtual Result<Attr> open(const Context&, Ino ino, uint32_t flags) = 0;  // fresh attributes; counts the inode as open here
  virtual Status close(Ino ino) = 0;                                     // last close of an unlinked file deletes it
  virtual void adoptOpen(Ino ino) = 0;                                   // hand-over: counts without checks
  virtual Result<SliceId> newSliceId() = 0;
  virtual Result<std::vector<Slice>> readChunk(Ino ino, uint32_t index) = 0;  // stored records, oldest first
  // Place `slice` (pos relative to the chunk, off/len/size set) and publish length and mtime with it, in one transaction.
  virtual Result<WriteResult> write(Ino ino, uint32_t index, const Slice& slice, Time mtime) = 0;
  // Append `len` bytes of slice (id, size) at the end of the file as it is at the commit; split over chunk borders.
  virtual Result<WriteResult> append(Ino ino, SliceId id, uint32_t size, uint32_t off, uint32_t len, Time mtime) = 0;
  virtual Result<uint64_t> copyFileRange(const Context&, Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size,
                                         uint64_t* dstLength) = 0;
  // Once, if there is something to gain; data through DataHooks::compact. Returns the bytes that were written anew.
  virtual Result<uint64_t> compactChunk(Ino ino, uint32_t index) = 0;
  // ---- locks ---- owner = 64-bit FUSE lock owner. Blocking calls wait, poll ctx.interrupted, and return interrupted.
  virtual Status flock(const Context&, Ino ino, uint64_t owner, LockType type, bool block) = 0;
  virtual Result<LockRange> getlk(const Context&, Ino ino, uint64_t owner, const LockRange& want) = 0;  // type 2 = free
  virtual Status setlk(const Context&, Ino ino, uint64_t owner, const LockRange& range, bool block) = 0;
  virtual Result<std::pair<FlockTable, PlockTable>> locks(Ino ino) = 0;
  // ---- whole trees ----
  virtual Status clone(const Context&, Ino src, Ino dstParent, std::string_view dstName, uint8_t mode, uint16_t umask, int threads,
                       const Progress&) = 0;
  virtual Status removeAll(const Context&, Ino parent, std::string_view name, bool skipTrash, int threads, const Progress&) = 0;
  virtual Result<Summary> summary(const Context&, Ino ino, bool recursive, bool strict, const Progress&) = 0;
  virtual Result<TreeSummary> treeSummary(const Context&, Ino ino, int depth, int topN, bool strict, const Progress&) = 0;
  // ---- quotas ----
  virtual Result<std::map<QuotaKey, Quota>> listQuotas() = 0;
  virtual Result<std::optional<Quota>> getQuota(const QuotaKey&) = 0;
  virtual Status setQuota(const QuotaKey&, std::optional<int64_t> maxSpace, std::optional<int64_t> maxInodes, bool strict) = 0;
  virtual Status deleteQuota(const QuotaKey&) = 0;
  // Compares stored with counted usage; false = differs (then *message says how; repaired if asked).
  virtual Result<bool> checkQuota(const QuotaKey&, bool repair, bool strict, std::string* message) = 0;
  // ---- checking, garbage ----
  virtual Result<FsckReport> fsck(const FsckOptions&, const Progress&) = 0;
  // Every slice that a file refers to (ino, slice); order free.
  virtual Status listSlices(const std::function<Status(Ino, const Slice&)>&) = 0;
  virtual Status listTrashSlices(const std::function<Status(SliceId, uint32_t size, int64_t at)>&) = 0;  // delayed slices
  virtual Status listDelFiles(const std::function<Status(Ino, uint64_t length, int64_t at)>&) = 0;
  virtual Result<std::vector<std::pair<SliceId, uint32_t>>> pendingSlices() = 0;  // reference count says unused
  // One pass of each background job now, whatever the leases say; returns what was removed.
  virtual Status runJob(std::string_view job /* sessions, files, slices, trash, changelog, detached */, uint64_t* removed) = 0;
};

// `hooks` may be set later. The store must outlive nothing: Meta owns it.
std::unique_ptr<Meta> makeMeta(std::unique_ptr<MetaStore> store, const MetaConfig& config);

}  // namespace aquifer::meta
