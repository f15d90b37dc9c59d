// Reads a binary backup segment by segment.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "meta/dump/backup_format.h"
#include "meta/dump/dump.h"
#include "meta/dump/load_batch.h"
#include "meta/dump/protobuf.h"
#include "meta/model/codec.h"

namespace aquifer::meta {
namespace {

// A message of a batch by field number; what is repeated keeps the last one, as proto3 says.
struct Parts {
  uint64_t n[8] = {};
  std::string_view b[8];
};

Status parse(std::string_view message, Parts& out, const std::function<void(uint64_t)>& repeated2 = {}) {
  PbReader in(message);
  PbField f;
  while (in.next(f)) {
    if (f.number == 0 || f.number >= std::size(out.n)) continue;
    out.n[f.number] = f.value;
    out.b[f.number] = f.bytes;
    if (f.number != 2 || !repeated2) continue;
    if (!f.isBytes) {
      repeated2(f.value);
      continue;
    }
    PbReader list(f.bytes);
    for (uint64_t v; !list.atEnd() && list.varint(v);) repeated2(v);
    if (!list.ok()) return Status(Code::corrupt, "a damaged list");
  }
  return in.ok() ? Status() : Status(Code::corrupt, "a damaged record");
}

int64_t number(uint64_t v) { return static_cast<int64_t>(v); }

class BinaryLoader {
 public:
  BinaryLoader(MetaStore& store, const DumpSource& source, const DumpProgress& progress)
      : store_(store), source_(source), batch_(store, progress) {}

  Result<LoadReport> run() {
    TRY(beginLoad(store_));
    for (bool more = true; more;) {
      auto next = segment();
      if (!next) return std::move(next).status().annotate(fmt::format("segment at byte {}", at_));
      more = *next;
    }
    if (!format_) return Status(Code::corrupt, "the backup has no setting");
    return finish();
  }

 private:
  // Exactly n bytes, or what is left at the end.
  Result<std::string> take(uint64_t n) {
    std::string out;
    while (out.size() < n) {
      const size_t had = out.size(), step = std::min<uint64_t>(n - had, 1 << 20);   // a length is not believed before the bytes are there
      out.resize(had + step);
      TRY_ASSIGN(size_t got, source_(out.data() + had, step));
      out.resize(had + got);
      if (got == 0) break;
    }
    read_ += out.size();
    return out;
  }

  Result<bool> segment() {
    at_ = read_;
    TRY_ASSIGN(auto type, take(4));
    if (type.size() < 4) return Status(Code::corrupt, "the file ends before its end mark");
    const auto code = loadBig<uint32_t>(type.data());
    if (code == kBackupMagic) return false;
    TRY_ASSIGN(auto size, take(8));
    if (size.size() < 8) return Status(Code::corrupt, "the file is cut off");
    const auto n = loadBig<uint64_t>(size.data());
    if (code == 0 || segmentName(static_cast<Segment>(code)).empty()) return Status(Code::corrupt, fmt::format("unknown kind {}: not a binary backup, or a newer one", code));
    if (n > kMaxSegment) return Status(Code::corrupt, fmt::format("impossible size {}", n));
    TRY_ASSIGN(auto payload, take(n));
    if (payload.size() < n) return Status(Code::corrupt, "the file is cut off");
    TRY(load(static_cast<Segment>(code), payload));
    return true;
  }

  Status load(Segment type, std::string_view payload) {
    PbReader in(payload);
    PbField f;
    while (in.next(f)) {
      if (!f.isBytes) continue;
      if (type == Segment::format) {
        if (f.number != 1) continue;
        TRY_ASSIGN(format_, parseFormat(std::string(f.bytes)));
        continue;
      }
      TRY(record(f.number, f.bytes));
    }
    return in.ok() ? Status() : Status(Code::corrupt, fmt::format("a damaged {} segment", segmentName(type)));
  }

  Status record(uint32_t field, std::string_view message) {
    Parts f;
    std::vector<uint64_t> list;
    if (field == batchField(Segment::sustained))
      TRY(parse(message, f, [&](uint64_t v) { list.push_back(v); }));
    else
      TRY(parse(message, f));
    switch (field) {
      case batchField(Segment::node): {
        TRY_ASSIGN(auto attr, decodeAttr(f.b[2]));
        return batch_.put(key::node(f.n[1]), attr);
      }
      case batchField(Segment::edge):
        if (f.b[3].empty() || f.b[3].size() > kMaxName) return Status(Code::corrupt, fmt::format("impossible name in directory {}", f.n[1]));
        return batch_.put(key::dentry(f.n[1], f.b[3]), Dentry{static_cast<FileType>(f.n[4]), f.n[2]});
      case batchField(Segment::chunk): return chunk(f);
      // Holders are counted from the chunks: a backup has no delayed slices, whose references its counts still include.
      case batchField(Segment::sliceRef):
        return number(f.n[3]) <= 0 ? batch_.pending(f.n[1], static_cast<uint32_t>(f.n[2]), number(f.n[3])) : Status();
      case batchField(Segment::xattr): return batch_.put(key::xattr(f.n[1], f.b[2]), std::string(f.b[3]));
      case batchField(Segment::parent): return batch_.put(key::parentCount(f.n[1], f.n[2]), number(f.n[3]));
      case batchField(Segment::symlink): return batch_.put(key::symlink(f.n[1]), std::string(f.b[2]));
      case batchField(Segment::sustained): return sustained(f.n[1], list);
      case batchField(Segment::delFile): return batch_.put(key::delFile(f.n[1], f.n[2]), number(f.n[3]));
      case batchField(Segment::stat): return batch_.put(key::dirStat(f.n[1]), DirStat{number(f.n[2]), number(f.n[3]), number(f.n[4])});
      case batchField(Segment::quota): return quota(Kind::dirQuota, f);
      case kUserQuotas: return quota(Kind::userQuota, f);
      case kGroupQuotas: return quota(Kind::groupQuota, f);
      case batchField(Segment::acl): {
        TRY_ASSIGN(auto rule, decodeAclRule(f.b[2]));
        maxAcl_ = std::max(maxAcl_, f.n[1]);
        return batch_.put(key::acl(static_cast<uint32_t>(f.n[1])), rule);
      }
      case batchField(Segment::counter): counters_[std::string(f.b[1])] = number(f.n[2]); return {};
      default: return {};   // the change log belongs to the volume that wrote it
    }
  }

  Status chunk(const Parts& f) {
    TRY_ASSIGN(auto slices, decodeSlices(f.b[3]));
    for (const Slice& s : slices) {
      maxSlice_ = std::max(maxSlice_, s.id);
      TRY(batch_.addRef(s.id, s.size));
    }
    return slices.empty() ? Status() : batch_.put(key::chunk(f.n[1], static_cast<uint32_t>(f.n[2])), std::move(slices));
  }

  Status quota(Kind kind, const Parts& f) {
    return batch_.put({kind, f.n[1], 0, {}}, Quota{number(f.n[2]), number(f.n[3]), number(f.n[4]), number(f.n[5])});
  }

  // The session is long gone: as a stale one it is found, and what it kept is deleted.
  Status sustained(SessionId sid, const std::vector<uint64_t>& inodes) {
    for (uint64_t ino : inodes) TRY(batch_.put(key::sustained(sid, ino), int64_t{1}));
    SessionInfo info;
    info.version = "backup";
    return batch_.put(key::session(sid), SessionRecord{.expire = 1, .info = encodeSessionInfo(info)});
  }

  Result<LoadReport> finish() {
    auto& nextChunk = counters_[std::string(counter::kNextChunk)];
    nextChunk = std::max(nextChunk, number(maxSlice_ + 1));
    for (auto name : kDumpedCounters) TRY(batch_.put(key::counter(name), counters_[std::string(name)]));
    TRY(batch_.put(key::counter(counter::kNextCleanupSlices), int64_t{0}));
    if (maxAcl_) TRY(batch_.put(key::counter(counter::kAclMaxId), number(maxAcl_)));
    return finishLoad(store_, batch_, *format_);
  }

  MetaStore& store_;
  const DumpSource& source_;
  LoadBatch batch_;
  std::optional<Format> format_;
  std::map<std::string, int64_t> counters_;
  uint64_t at_ = 0, read_ = 0, maxAcl_ = 0;
  SliceId maxSlice_ = 0;
};

}  // namespace

Result<LoadReport> loadBinary(Meta& meta, const DumpSource& source, const DumpProgress& progress) {
  return BinaryLoader(meta.store(), source, progress).run();
}

Result<BackupSummary> parseBackupFooter(std::string_view tail, uint64_t size) {
  const auto damaged = [](const char* what) { return Status(Code::corrupt, std::string("not a binary backup: ") + what); };
  if (tail.size() < 12) return damaged("too short");
  const auto n = loadBig<uint64_t>(tail.data() + tail.size() - 8);
  if (n > tail.size() - 12 || loadBig<uint32_t>(tail.data() + tail.size() - 12 - n) != kBackupMagic) return damaged("no footer");
  BackupSummary out;
  PbReader in(tail.substr(tail.size() - 8 - n, n));
  PbField f;
  while (in.next(f)) {
    if (f.number == 1 && f.value != kBackupMagic) return damaged("wrong mark");
    if (f.number == 2) out.version = static_cast<uint32_t>(f.value);
    if (f.number != 3) continue;
    PbReader pair(f.bytes);
    PbField p;
    std::string name;
    BackupSummary::Kind kind;
    while (pair.next(p)) {
      if (p.number == 1) name = p.bytes;
      if (p.number != 2) continue;
      Parts info;
      TRY(parse(p.bytes, info));
      kind.records = info.n[2];
      PbReader offsets(info.b[1]);
      for (uint64_t o; !offsets.atEnd() && offsets.varint(o);) {
        if (o >= size) return damaged("an offset behind its end");
        kind.offsets.push_back(o);
      }
      if (!offsets.ok()) return damaged("offsets");
    }
    if (!pair.ok()) return damaged("footer");
    out.kinds[name] = std::move(kind);
  }
  if (!in.ok()) return damaged("footer");
  return out;
}

}  // namespace aquifer::meta
