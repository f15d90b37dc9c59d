#include "meta/ops/metered_meta.h"

#include <utility>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/stages.h"

namespace aquifer::meta {
namespace {

// One kind of call. Registered at its first use, as JuiceFS lists only what has happened.
class Op {
 public:
  explicit Op(const char* name)
      : calls_(metrics::counter("meta_ops_total", "Meta operation count", {{"method", name}})),
        seconds_(metrics::counter("meta_ops_duration_seconds", "Meta operation duration in seconds.", {{"method", name}})),
        durations_(metrics::histogram("meta_ops_durations_histogram_seconds", "Operation latency distributions.",
                                      metrics::exponentialBuckets(0.0001, 1.5, 30))) {}
  template <class F>
  auto time(F&& call) {
    ScopedStage stage(Stage::metadata);
    const int64_t start = monotonicNanos();
    auto result = std::forward<F>(call)();
    const double took = static_cast<double>(monotonicNanos() - start) * 1e-9;
    calls_.add();
    seconds_.add(took);
    durations_.observe(took);
    return result;
  }

 private:
  metrics::Counter& calls_;
  metrics::Counter& seconds_;
  metrics::Histogram& durations_;
};

class MeteredMeta final : public Meta {
 public:
  explicit MeteredMeta(std::unique_ptr<Meta> inner) : in_(std::move(inner)) {}

  // ---- measured ----
  Result<Entry> lookup(const Context& c, Ino parent, std::string_view name) override {
    static Op op("Lookup");
    return op.time([&] { return in_->lookup(c, parent, name); });
  }
  Result<Entry> resolve(const Context& c, std::string_view path) override {
    static Op op("Resolve");
    return op.time([&] { return in_->resolve(c, path); });
  }
  Result<Entry> mknod(const Context& c, Ino parent, std::string_view name, FileType type, uint16_t mode, uint16_t umask, uint32_t rdev,
                      std::string_view target, Entry* existing, Ino wantIno) override {
    static Op op("Mknod");
    return op.time([&] { return in_->mknod(c, parent, name, type, mode, umask, rdev, target, existing, wantIno); });
  }
  Result<std::string> readlink(const Context& c, Ino ino) override {
    static Op op("ReadLink");
    return op.time([&] { return in_->readlink(c, ino); });
  }
  Result<Entry> unlink(const Context& c, Ino parent, std::string_view name, bool skipTrash) override {
    static Op op("Unlink");
    return op.time([&] { return in_->unlink(c, parent, name, skipTrash); });
  }
  Result<Entry> rmdir(const Context& c, Ino parent, std::string_view name, bool skipTrash) override {
    static Op op("Rmdir");
    return op.time([&] { return in_->rmdir(c, parent, name, skipTrash); });
  }
  Result<RenameResult> rename(const Context& c, Ino from, std::string_view name, Ino to, std::string_view newName, uint32_t flags) override {
    static Op op("Rename");
    return op.time([&] { return in_->rename(c, from, name, to, newName, flags); });
  }
  Result<Entry> link(const Context& c, Ino ino, Ino parent, std::string_view name) override {
    static Op op("Link");
    return op.time([&] { return in_->link(c, ino, parent, name); });
  }
  Result<std::vector<DirEntry>> readdir(const Context& c, Ino dir, std::string_view after, size_t limit, bool plus) override {
    static Op op("NewDirHandler");
    return op.time([&] { return in_->readdir(c, dir, after, limit, plus); });
  }
  Result<Attr> getattr(const Context& c, Ino ino) override {
    static Op op("GetAttr");
    return op.time([&] { return in_->getattr(c, ino); });
  }
  Result<Attr> setattr(const Context& c, Ino ino, const SetAttr& set, uint8_t clear) override {
    static Op op("SetAttr");
    return op.time([&] { return in_->setattr(c, ino, set, clear); });
  }
  Result<Attr> truncate(const Context& c, Ino ino, uint64_t length, bool byHandle) override {
    static Op op("Truncate");
    return op.time([&] { return in_->truncate(c, ino, length, byHandle); });
  }
  Result<Attr> fallocate(const Context& c, Ino ino, uint32_t mode, uint64_t off, uint64_t size) override {
    static Op op("Fallocate");
    return op.time([&] { return in_->fallocate(c, ino, mode, off, size); });
  }
  Result<std::string> getxattr(const Context& c, Ino ino, std::string_view name) override {
    static Op op("GetXattr");
    return op.time([&] { return in_->getxattr(c, ino, name); });
  }
  Status setxattr(const Context& c, Ino ino, std::string_view name, std::string_view value, int flags) override {
    static Op op("SetXattr");
    return op.time([&] { return in_->setxattr(c, ino, name, value, flags); });
  }
  Result<std::vector<std::string>> listxattr(const Context& c, Ino ino) override {
    static Op op("ListXattr");
    return op.time([&] { return in_->listxattr(c, ino); });
  }
  Status removexattr(const Context& c, Ino ino, std::string_view name) override {
    static Op op("RemoveXattr");
    return op.time([&] { return in_->removexattr(c, ino, name); });
  }
  Result<std::optional<AclRule>> getAcl(const Context& c, Ino ino, AclType type) override {
    static Op op("GetFacl");
    return op.time([&] { return in_->getAcl(c, ino, type); });
  }
  Status setAcl(const Context& c, Ino ino, AclType type, const AclRule& rule) override {
    static Op op("SetFacl");
    return op.time([&] { return in_->setAcl(c, ino, type, rule); });
  }
  Result<StatFs> statfs(const Context& c, Ino ino) override {
    static Op op("StatFS");
    return op.time([&] { return in_->statfs(c, ino); });
  }
  Result<std::vector<Slice>> readChunk(Ino ino, uint32_t index) override {
    static Op op("Read");
    return op.time([&] { return in_->readChunk(ino, index); });
  }
  Result<WriteResult> write(Ino ino, uint32_t index, const Slice& slice, Time mtime) override {
    return writes().time([&] { return in_->write(ino, index, slice, mtime); });
  }
  Result<WriteResult> append(Ino ino, SliceId id, uint32_t size, uint32_t off, uint32_t len, Time mtime) override {
    return writes().time([&] { return in_->append(ino, id, size, off, len, mtime); });
  }
  Result<uint64_t> copyFileRange(const Context& c, Ino src, uint64_t srcOff, Ino dst, uint64_t dstOff, uint64_t size, uint64_t* length) override {
    static Op op("CopyFileRange");
    return op.time([&] { return in_->copyFileRange(c, src, srcOff, dst, dstOff, size, length); });
  }
  Status clone(const Context& c, Ino src, Ino parent, std::string_view name, uint8_t mode, uint16_t umask, int threads,
               const Progress& progress) override {
    static Op op("Clone");
    return op.time([&] { return in_->clone(c, src, parent, name, mode, umask, threads, progress); });
  }
  Status removeAll(const Context& c, Ino parent, std::string_view name, bool skipTrash, int threads, const Progress& progress) override {
    static Op op("Remove");
    return op.time([&] { return in_->removeAll(c, parent, name, skipTrash, threads, progress); });
  }
  Result<Summary> summary(const Context& c, Ino ino, bool recursive, bool strict, const Progress& progress) override {
    static Op op("GetSummary");
    return op.time([&] { return in_->summary(c, ino, recursive, strict, progress); });
  }
  Result<TreeSummary> treeSummary(const Context& c, Ino ino, int depth, int topN, bool strict, const Progress& progress) override {
    static Op op("GetTreeSummary");
    return op.time([&] { return in_->treeSummary(c, ino, depth, topN, strict, progress); });
  }

  // ---- passed through ----
  Status init(const Format& format, bool force) override { return in_->init(format, force); }
  Result<Format> load(bool checkVersion) override { return in_->load(checkVersion); }
  Format format() const override { return in_->format(); }
  MetaStore& store() override { return in_->store(); }
  Status openSession() override { return in_->openSession(); }
  Status closeSession() override { return in_->closeSession(); }
  Status flushSession() override { return in_->flushSession(); }
  SessionId sid() const override { return in_->sid(); }
  Ino rootIno() const override { return in_->rootIno(); }
  Result<std::vector<SessionDetail>> sessions() override { return in_->sessions(); }
  Result<SessionDetail> session(SessionId sid) override { return in_->session(sid); }
  void setDataHooks(DataHooks hooks) override { in_->setDataHooks(std::move(hooks)); }
  void onFatal(std::function<void(const std::string&)> stop) override { in_->onFatal(std::move(stop)); }
  void onFormatChange(std::function<void(const Format&)> changed) override { in_->onFormatChange(std::move(changed)); }
  Result<Ino> allocateIno() override { return in_->allocateIno(); }
  Result<std::vector<std::string>> paths(Ino ino) override { return in_->paths(ino); }
  Status access(const Context& c, Ino ino, uint8_t rwx, const Attr* known) override { return in_->access(c, ino, rwx, known); }
  Status touchAtime(const Context& c, Ino ino) override { return in_->touchAtime(c, ino); }
  KnownUsage knownUsage() override { return in_->knownUsage(); }
  Result<Attr> open(const Context& c, Ino ino, uint32_t flags) override {
    ScopedStage stage(Stage::metadata);
    return in_->open(c, ino, flags);
  }
  Status close(Ino ino) override {
    ScopedStage stage(Stage::metadata);
    return in_->close(ino);
  }
  void adoptOpen(Ino ino) override { in_->adoptOpen(ino); }
  Result<SliceId> newSliceId() override { return in_->newSliceId(); }
  Result<uint64_t> compactChunk(Ino ino, uint32_t index) override { return in_->compactChunk(ino, index); }
  Status flock(const Context& c, Ino ino, uint64_t owner, LockType type, bool block) override { return in_->flock(c, ino, owner, type, block); }
  Result<LockRange> getlk(const Context& c, Ino ino, uint64_t owner, const LockRange& want) override { return in_->getlk(c, ino, owner, want); }
  Status setlk(const Context& c, Ino ino, uint64_t owner, const LockRange& range, bool block) override {
    return in_->setlk(c, ino, owner, range, block);
  }
  Result<std::pair<FlockTable, PlockTable>> locks(Ino ino) override { return in_->locks(ino); }
  Result<std::map<QuotaKey, Quota>> listQuotas() override { return in_->listQuotas(); }
  Result<std::optional<Quota>> getQuota(const QuotaKey& key) override { return in_->getQuota(key); }
  Status setQuota(const QuotaKey& key, std::optional<int64_t> space, std::optional<int64_t> inodes, bool strict) override {
    return in_->setQuota(key, space, inodes, strict);
  }
  Status deleteQuota(const QuotaKey& key) override { return in_->deleteQuota(key); }
  Result<bool> checkQuota(const QuotaKey& key, bool repair, bool strict, std::string* message) override {
    return in_->checkQuota(key, repair, strict, message);
  }
  Result<FsckReport> fsck(const FsckOptions& options, const Progress& progress) override { return in_->fsck(options, progress); }
  Status listSlices(const std::function<Status(Ino, const Slice&)>& visit) override { return in_->listSlices(visit); }
  Status listTrashSlices(const std::function<Status(SliceId, uint32_t size, int64_t at)>& visit) override { return in_->listTrashSlices(visit); }
  Status listDelFiles(const std::function<Status(Ino, uint64_t length, int64_t at)>& visit) override { return in_->listDelFiles(visit); }
  Result<std::vector<std::pair<SliceId, uint32_t>>> pendingSlices() override { return in_->pendingSlices(); }
  Status runJob(std::string_view job, uint64_t* removed) override { return in_->runJob(job, removed); }

 private:
  static Op& writes() {
    static Op op("Write");
    return op;
  }
  const std::unique_ptr<Meta> in_;
};

}  // namespace

std::unique_ptr<Meta> metered(std::unique_ptr<Meta> meta) { return std::make_unique<MeteredMeta>(std::move(meta)); }

}  // namespace aquifer::meta
