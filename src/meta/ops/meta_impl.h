// The one implementation of Meta: what all operations share. The operations themselves are spread over the .cc files of this
// folder, an idea each; background work is in meta/jobs.
//
// Lock order: none of the mutexes here is held while another one is taken or while the store works.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "meta/ops/acl_cache.h"
#include "meta/ops/charge.h"
#include "meta/ops/id_batch.h"
#include "meta/ops/lock_waits.h"
#include "meta/ops/meta.h"
#include "meta/ops/open_files.h"
#include "meta/ops/quota_cache.h"
#include "meta/store/with_txn.h"

namespace aquifer::meta {

// Heartbeat and leased jobs (meta/jobs). Owned by MetaImpl; stopped before anything else goes away.
class Jobs {
 public:
  virtual ~Jobs() = default;
  virtual void start() = 0;   // the heartbeat; the leased jobs too unless noBgJob or readOnly
  virtual void stop() = 0;    // joins; idempotent
  virtual Status run(std::string_view job, uint64_t* removed) = 0;  // one pass now
};
class MetaImpl;
std::unique_ptr<Jobs> makeJobs(MetaImpl& meta);   // meta/jobs/jobs.cc

// What became of a node that lost a name.
struct Removal {
  Ino ino = 0;
  Attr attr;                // as it is after the transaction (nlink 0: gone or sustained)
  Ino trash = 0;            // the sub-trash that took it, 0: none
  bool sustained = false;   // kept because this process has it open
  bool purge = false;       // a delfile record was written: the data of (ino, attr.length) may go
  bool gone = false;        // the node record was removed
};

class MetaImpl final : public Meta {
 public:
  MetaImpl(std::unique_ptr<MetaStore> store, const MetaConfig& config);
  ~MetaImpl() override;

  // ================ Meta ================
  // volume.cc
  Status init(const Format& format, bool force) override;
  Result<Format> load(bool checkVersion) override;
  Format format() const override { return *formatNow(); }
  MetaStore& store() override { return *store_; }
  // session.cc
  Status openSession() override;
  Status closeSession() override;
  Status flushSession() override;
  SessionId sid() const override { return sid_.load(std::memory_order_acquire); }
  Ino rootIno() const override { return rootIno_; }
  Result<std::vector<SessionDetail>> sessions() override;
  Result<SessionDetail> session(SessionId sid) override;
  void setDataHooks(DataHooks hooks) override;
  void onFatal(std::function<void(const std::string&)> stop) override;
  void onFormatChange(std::function<void(const Format&)> changed) override;

  Result<Entry> lookup(const Context&, Ino parent, std::string_view name) override;
  Result<Entry> resolve(const Context&, std::string_view path) override;
  Result<Entry> mknod(const Context&, Ino parent, std::string_view name, FileType type, uint16_t mode, uint16_t umask, uint32_t rdev,
                      std::string_view symlinkTarget, Entry* existing, Ino wantIno) override;
  Result<Ino> allocateIno() override { return inodes_.next(); }
  Result<std::string> readlink(const Context&, Ino ino) override;
  Result<Entry> unlink(const Context&, Ino parent, std::string_view name, bool skipTrash) override;
  Result<Entry> rmdir(const Context&, Ino parent, std::string_view name, bool skipTrash) override;
  Result<RenameResult> rename(const Context&, Ino srcParent, std::string_view srcName, Ino dstParent, std::string_view dstName,
                              uint32_t flags) override;
  Result<Entry> link(const Context&, Ino ino, Ino newParent, std::string_view newName) override;
  Result<std::vector<DirEntry>> readdir(const Context&, Ino dir, std::string_view afterName, size_t limit, bool plus) override;
  Result<std::vector<std::string>> paths(Ino ino) override;

  Result<Attr> getattr(const Context&, Ino ino) override;
  Status access(const Context&, Ino ino, uint8_t rwx, const Attr* known) override;
  Result<Attr> setattr(const Context&, Ino ino, const SetAttr&, uint8_t sugidClearMode) override;
  Result<Attr> truncate(const Context&, Ino ino, uint64_t length, bool byHandle) override;
  Result<Attr> fallocate(const Context&, Ino ino, uint32_t mode, uint64_t off, uint64_t size) override;
  Status touchAtime(const Context&, Ino ino) override;
  Result<std::string> getxattr(const Context&, Ino ino, std::string_view name) override;
  Status setxattr(const Context&, Ino ino, std::string_view name, std::string_view value, int flags) override;
  Result<std::vector<std::string>> listxattr(const Context&, Ino ino) override;
  Status removexattr(const Context&, Ino ino, std::string_view name) override;
  Result<std::optional<AclRule>> getAcl(const Context&, Ino ino, AclType) override;
  Status setAcl(const Context&, Ino ino, AclType, const AclRule& rule) override;
  Result<StatFs> statfs(const Context&, Ino ino) override;
  KnownUsage knownUsage() override;

  Result<Attr> open(const Context&, Ino ino, uint32_t flags) override;
  Status close(Ino ino) override;
  void adoptOpen(Ino ino) override;
  Result<SliceId> newSliceId() override { return slices_.next(); }
  Result<std::vector<Slice>> readChunk(Ino ino, uint32_t index) override;
  Result<WriteResult> write(Ino ino, uint32_t index, const Slice& slice, Time mtime) override;
  Result<WriteResult> append(Ino ino, SliceId id, uint32_t size, uint32_t off, uint32_t len, Time mtime) override;
  Result<uint64_t> copyFileRange(const Context&, Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size,
                                 uint64_t* dstLength) override;
  Result<uint64_t> compactChunk(Ino ino, uint32_t index) override;

  Status flock(const Context&, Ino ino, uint64_t owner, LockType type, bool block) override;
  Result<LockRange> getlk(const Context&, Ino ino, uint64_t owner, const LockRange& want) override;
  Status setlk(const Context&, Ino ino, uint64_t owner, const LockRange& range, bool block) override;
  Result<std::pair<FlockTable, PlockTable>> locks(Ino ino) override;
  Status clone(const Context&, Ino src, Ino dstParent, std::string_view dstName, uint8_t mode, uint16_t umask, int threads,
               const Progress&) override;
  Status removeAll(const Context&, Ino parent, std::string_view name, bool skipTrash, int threads, const Progress&) override;
  Result<Summary> summary(const Context&, Ino ino, bool recursive, bool strict, const Progress&) override;
  Result<TreeSummary> treeSummary(const Context&, Ino ino, int depth, int topN, bool strict, const Progress&) override;
  Result<std::map<QuotaKey, Quota>> listQuotas() override;
  Result<std::optional<Quota>> getQuota(const QuotaKey&) override;
  Status setQuota(const QuotaKey&, std::optional<int64_t> maxSpace, std::optional<int64_t> maxInodes, bool strict) override;
  Status deleteQuota(const QuotaKey&) override;
  Result<bool> checkQuota(const QuotaKey&, bool repair, bool strict, std::string* message) override;
  Result<FsckReport> fsck(const FsckOptions&, const Progress&) override;
  Status listSlices(const std::function<Status(Ino, const Slice&)>&) override;
  Status listTrashSlices(const std::function<Status(SliceId, uint32_t size, int64_t at)>&) override;
  Status listDelFiles(const std::function<Status(Ino, uint64_t length, int64_t at)>&) override;
  Result<std::vector<std::pair<SliceId, uint32_t>>> pendingSlices() override;
  Status runJob(std::string_view job, uint64_t* removed) override;

  // ================ shared by operations and jobs ================
  // The inode that callers name -> the stored one, and back (a sub-directory mount shows its own root as 1).
  Ino real(Ino ino) const { return ino == kRootIno ? rootIno_ : ino; }
  Ino shown(Ino ino) const { return ino == rootIno_ ? kRootIno : ino; }

  const MetaConfig& config() const { return config_; }
  std::shared_ptr<const Format> formatNow() const;       // a snapshot, never null
  void setFormat(Format format);                          // secrets in clear; tells onFormatChange if it differs
  void fatal(const std::string& why);                     // calls the onFatal callback
  DataHooks dataHooks() const;
  OpenFiles& openFiles() { return open_; }
  QuotaCache& quotaCache() { return quotas_; }
  AclCache& aclCache() { return acls_; }
  Jobs& jobs() { return *jobs_; }

  // A write transaction (readOnly mounts: Code::readOnly). See with_txn.h for confirm.
  Status txn(std::string_view operation, const TxnBody& body, const std::function<Result<bool>(MetaTxn&)>& confirm = {});
  Status read(std::string_view operation, const TxnBody& body);
  // Takes n ids off a counter; returns the first of them.
  Result<uint64_t> takeIds(std::string_view counter, uint64_t n);
  // Appends "<now>|<entry>|(<sid>,<n>)" if the volume keeps a change log. `entry`: OP(args)[:result], see changelog.h.
  bool logging() const;
  void log(MetaTxn& tx, const std::string& entry);        // changelog.cc

  static Time now();
  void touchParent(MetaTxn& tx, Ino dir, Time now) { // never for trash
    if (!isTrash(dir)) tx.touch(dir, now, config_.skipDirMtime.count());
  }

  // ---- permission (permission.cc) ----
  // rwx of ctx on a node; does nothing unless ctx.checkPermission. accessDenied.
  Status allowed(const Context& ctx, MetaTxn& tx, const Attr& attr, uint8_t rwx);
  // The directory `dir` as a place that gains, loses or changes names: exists (notFound), is a directory, W+X, flags. Reads it
  // masked (kFieldsParent). adding: not in the trash (notFound); removing: append-only refuses too; restoring: anywhere.
  enum class ParentUse { adding, removing, restoring };
  Result<Attr> parentFor(const Context& ctx, MetaTxn& tx, Ino dir, ParentUse use);
  // Sticky bit: ctx must own the directory or the entry. accessDenied.
  Status stickyAllows(const Context& ctx, const Attr& dir, const Attr& entry);

  // A name that is to come into being: invalid, nameTooLong, exists (dots), notPermitted (trash). create.cc
  Status checkNewName(Ino parent, std::string_view name) const;
  // Mode, owner, ACLs, flags and tier of a new child (attr.type is set) from the request and its parent. create.cc
  Status inherit(const Context& ctx, MetaTxn& tx, const Attr& parent, uint16_t mode, uint16_t umask, Attr& attr);

  // ---- trash (trash.cc) ----
  bool trashFor(Ino parent) const { return formatNow()->trashDays > 0 && !isTrash(parent); }
  static Key subTrashKey(Time now);                       // its entry, for prefetch
  // The sub-trash of the hour of `now`, created by this transaction if missing.
  Result<Ino> subTrash(MetaTxn& tx, Time now, Charge& charge);
  static std::string trashName(Ino parent, Ino ino, std::string_view name);

  // Who may take names out of the trash: notPermitted. unlink.cc
  Status checkTrashRemoval(const Context& ctx, Ino parent, std::string_view name) const;

  // ---- removal (remove.cc), inside a transaction ----
  // Takes the name (parent, name) -> (ino, attr) away: dentry, statistics of the parent, the node's links, trash, sustained,
  // delfile. The caller has checked permission, emptiness (and guards) and touches the parent.
  Result<Removal> removeName(MetaTxn& tx, Ino parent, std::string_view name, Ino ino, Attr attr, bool skipTrash, Time now,
                             Charge& charge);
  // After the commit: start purging data, remember sustained files and buried directories.
  void removed(const Removal& removal);
  // Deletes the records of a node that has no name and is not sustained by anyone. True: it left a delfile, its data is to be purged.
  Result<bool> dropNode(MetaTxn& tx, Ino ino, const Attr& attr, Time now, Charge& charge, bool sustainedUntilNow);

  // ---- deleted files (purge.cc) ----
  void purgeLater(Ino ino, uint64_t length);              // bounded queue; what does not fit is left to the hourly job
  Status purgeFile(Ino ino, uint64_t length);             // chunks, references, objects, then the delfile record
  Status purgeChunk(Ino ino, uint32_t index);
  // The slice has no holder left: objects, then the reference record. Does nothing if maxDeletes is 0 or there is no hook.
  Status deleteSlice(SliceId id, uint32_t size);
  void deleteSliceLater(SliceId id, uint32_t size);
  // Changes the holders of a slice by delta inside tx; true if none is left. id 0: nothing.
  Result<bool> addSliceRef(MetaTxn& tx, SliceId id, uint32_t size, int64_t delta);

  // ---- sessions (session.cc) ----
  std::string sessionInfo() const;
  int64_t sessionExpiry() const;                          // unix seconds
  Status refreshSession();                                // one heartbeat's renewal of the own record
  Status cleanSession(SessionId sid);                     // locks, sustained files, then the record
  Status dropSustained(SessionId sid, Ino ino);           // delete the file that the session kept

  // ---- usage ----
  Status refreshUsage();                                  // counters and quotas into the cache
  // Links of a hard-linked inode by parent (attr.parent is 0).
  Result<std::vector<std::pair<Ino, int64_t>>> parentCounts(MetaTxn& tx, Ino ino);
  // For callers' eyes: nlink without the links that live in the trash, the mount root as parent 1. At least one link is shown
  // for a node that somebody finds in the trash (`inTrash`) or that only the trash holds and nobody here has open.
  Status present(MetaTxn& tx, Ino ino, Attr& attr, bool inTrash = false);
  Status presentAfter(Ino ino, Attr& attr);               // the same outside a transaction, on what one has just written
  // True if the directory `ino` is `ancestor` or lies below it, by attr.parent. The transaction relies on every step of the
  // chain, so a concurrent move of any directory in it is a conflict.
  Result<bool> isBelow(MetaTxn& tx, Ino ino, Ino ancestor);

  // ---- whole trees ----
  // Called with the number of nodes done since the last call; false cancels (Code::interrupted).
  using Step = std::function<bool(uint64_t nodes)>;
  // Removes everything below `dir` (a stored inode), not `dir` itself. remove_all.cc
  Status emptyDir(const Context& ctx, Ino dir, bool skipTrash, const Step& step);
  // A tree that never got a name, as clone builds one: contents, node, and its record in the detached set. clone.cc
  Status removeDetached(Ino ino);
  // Sums over the direct children of a directory, as its statistics should be. summary.cc
  Result<DirStat> countChildren(MetaTxn& tx, Ino dir);

 private:
  friend class Charge;
  friend class CloneTree;
  Status waitForLock(const Context& ctx, const std::function<Status()>& attempt, const std::function<Result<bool>()>& stuck);
  Result<bool> deadlocked(uint64_t waiter);
  Result<std::pair<int64_t, int64_t>> countUsage(const QuotaKey& key, bool strict);   // space, inodes. quota_admin.cc
  class Rename;
  Status prepareRoot();                                   // --subdir -> rootIno_
  // setattr.cc: rules of attribute changes on a copy. tx: for ACLs; nullptr for a removed directory.
  Status changeAttr(const Context& ctx, MetaTxn* tx, const SetAttr& set, Time now, Attr& attr);
  Status changeOwner(const Context& ctx, const SetAttr& set, Attr& attr);
  Status changeMode(const Context& ctx, MetaTxn* tx, uint16_t mode, Attr& attr);
  Status changeTimes(const Context& ctx, MetaTxn* tx, const SetAttr& set, Time now, Attr& attr);
  // length.cc: holes over [from, to) in the chunks that exist, and in the first one anyway if asked.
  Status addHoles(MetaTxn& tx, Ino ino, uint64_t from, uint64_t to, bool firstAnyway);
  Result<uint64_t> copyStep(Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size, uint64_t* dstLength);
  // A new length and its usage; the caller puts the node.
  Status resize(MetaTxn& tx, Ino ino, Attr& attr, uint64_t length, Charge& charge);
  Result<Ino> ensureDir(Ino parent, const std::string& name);

  std::unique_ptr<MetaStore> store_;
  const MetaConfig config_;
  Ino rootIno_ = kRootIno;                                // fixed once the session is open
  std::atomic<SessionId> sid_{0};
  std::atomic<uint64_t> txnNumber_{0};                    // for the change log
  std::atomic<bool> quitting_{false};                     // queued deletions are left to the hourly job

  mutable std::shared_mutex formatMu_;
  std::shared_ptr<const Format> format_;
  mutable std::mutex hooksMu_;
  DataHooks hooks_;
  std::function<void(const std::string&)> onFatal_;
  std::function<void(const Format&)> onFormatChange_;
  std::string mountTime_;

  IdBatch inodes_, slices_;
  OpenFiles open_;
  QuotaCache quotas_;
  AclCache acls_;
  LockWaits lockWaits_;
  std::mutex compactMu_;
  std::set<std::pair<Ino, uint32_t>> compacting_;         // one compaction a chunk
  std::unique_ptr<ThreadPool> deleter_;                   // purges files and slices
  std::unique_ptr<Jobs> jobs_;
};

}  // namespace aquifer::meta
