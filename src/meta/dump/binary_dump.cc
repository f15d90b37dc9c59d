// The binary backup: every record of every kind, in batches.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <unordered_map>

#include "base/bytes.h"
#include "meta/dump/backup_format.h"
#include "meta/dump/dump.h"
#include "meta/dump/protobuf.h"
#include "meta/dump/view.h"
#include "meta/model/codec.h"

namespace aquifer::meta {
namespace {

uint64_t word(int64_t v) { return static_cast<uint64_t>(v); }

class BinaryDumper {
 public:
  BinaryDumper(MetaStore& store, const DumpOptions& options, const DumpSink& sink, const DumpProgress& progress)
      : store_(store), options_(options), sink_(sink), progress_(progress) {}

  Status run(DumpView& view) {
    view_ = &view;
    TRY(setting());
    TRY(counters());
    TRY(nodes());
    TRY(edges());
    TRY(records<SliceList>(Segment::chunk, Kind::chunk, [](const Key& k, const SliceList& v) {
      return PbWriter().number(1, k.id).number(2, k.sub).bytes(3, encodeSlices(v)).text();
    }));
    TRY(records<int64_t>(Segment::sliceRef, Kind::sliceRef, [](const Key& k, int64_t v) {
      return v == 1 ? std::string() : PbWriter().number(1, k.id).number(2, k.sub).number(3, word(v)).text();
    }));
    TRY(records<std::string>(Segment::symlink, Kind::symlink,
                             [](const Key& k, const std::string& v) { return PbWriter().number(1, k.id).bytes(2, v).text(); }));
    TRY(sustained());
    TRY(records<int64_t>(Segment::delFile, Kind::delFile,
                         [](const Key& k, int64_t v) { return PbWriter().number(1, k.id).number(2, k.sub).number(3, word(v)).text(); }));
    TRY(records<std::string>(Segment::xattr, Kind::xattr, [](const Key& k, const std::string& v) {
      return PbWriter().number(1, k.id).bytes(2, k.name).bytes(3, v).text();
    }));
    TRY(records<AclRule>(Segment::acl, Kind::acl,
                         [](const Key& k, const AclRule& v) { return PbWriter().number(1, k.id).bytes(2, encodeAclRule(v)).text(); }));
    TRY(records<DirStat>(Segment::stat, Kind::dirStat, [](const Key& k, const DirStat& v) {
      return PbWriter().number(1, k.id).number(2, word(v.length)).number(3, word(v.space)).number(4, word(v.inodes)).text();
    }));
    for (auto [kind, field] : {std::pair{Kind::dirQuota, batchField(Segment::quota)}, std::pair{Kind::userQuota, kUserQuotas},
                               std::pair{Kind::groupQuota, kGroupQuotas}}) {
      TRY(records<Quota>(Segment::quota, kind, [](const Key& k, const Quota& q) {
        return PbWriter().number(1, k.id).number(2, word(q.maxSpace)).number(3, word(q.maxInodes)).number(4, word(q.usedSpace)).number(5, word(q.usedInodes)).text();
      }, field));
    }
    TRY(parents());
    return footer();
  }

 private:
  struct Info {
    std::vector<uint64_t> offsets;
    uint64_t count = 0;
  };

  Status write(std::string_view bytes) {
    TRY(sink_(bytes));
    written_ += bytes.size();
    return {};
  }
  Status segment(Segment type, std::string_view payload, uint64_t count) {
    Info& info = infos_[std::string(segmentName(type))];
    info.offsets.push_back(written_);
    info.count += count;
    std::string head;
    appendBig(head, static_cast<uint32_t>(type));
    appendBig(head, uint64_t{payload.size()});
    TRY(write(head));
    return write(payload);
  }

  // ---- batches ----
  Status add(Segment type, uint32_t field, std::string_view message) {
    batch_.message(field, message);
    ++inBatch_;
    ++records_;
    if (records_ % 1000 == 0 && progress_ && !progress_(records_)) return Code::interrupted;
    return inBatch_ >= kSegmentRecords || batch_.text().size() >= kSegmentBytes ? flush(type) : Status();
  }
  Status flush(Segment type) {
    if (inBatch_ == 0) {
      infos_[std::string(segmentName(type))];   // a kind without records is listed all the same
      return {};
    }
    TRY(segment(type, batch_.text(), inBatch_));
    batch_ = PbWriter();
    inBatch_ = 0;
    return {};
  }
  // `message` makes the bytes of one record; empty: it is left out.
  template <class T>
  Status records(Segment type, Kind kind, const std::function<std::string(const Key&, const T&)>& message, uint32_t field = 0) {
    TRY(view_->each(kind, [&](const Key& key, const Value& value) -> Status {
      auto* v = std::get_if<T>(&value);
      if (!v) return Status(Code::corrupt, fmt::format("a {} record holds a value of another kind", segmentName(type)));
      const std::string bytes = message(key, *v);
      return bytes.empty() ? Status() : add(type, field ? field : batchField(type), bytes);
    }));
    return flush(type);
  }

  // ---- kinds that are more than a record each ----
  Status setting() {
    TRY_ASSIGN(std::string text, view_->setting());
    if (!options_.keepSecrets) {
      TRY_ASSIGN(auto format, parseFormat(text));
      for (std::string* secret : {&format.secretKey, &format.sessionToken, &format.encryptKey})
        if (!secret->empty()) *secret = kRemovedSecret;
      text = formatToJson(format);
    }
    return segment(Segment::format, PbWriter().bytes(1, text).text(), 1);
  }

  Status counters() {
    std::vector<std::pair<std::string_view, int64_t>> found;
    TRY(view_->read([&](MetaTxn& tx) -> Status {
      found.clear();
      for (auto name : kDumpedCounters) {
        TRY_ASSIGN(auto value, tx.find<int64_t>(key::counter(name)));
        found.emplace_back(name, value.value_or(0));
      }
      return {};
    }));
    for (auto& [name, value] : found) TRY(add(Segment::counter, batchField(Segment::counter), PbWriter().bytes(1, name).number(2, word(value)).text()));
    return flush(Segment::counter);
  }

  Status nodes() {
    return records<Attr>(Segment::node, Kind::node, [this](const Key& k, const Attr& a) {
      if (store_.traits().parentsFromDentries && a.parent == 0 && !a.isDir()) linked_[k.id];
      return PbWriter().number(1, k.id).bytes(2, encodeAttr(a)).text();
    });
  }

  Status edges() {
    return records<Dentry>(Segment::edge, Kind::dentry, [this](const Key& k, const Dentry& d) {
      if (auto it = linked_.find(d.ino); it != linked_.end()) ++it->second[k.id];
      return PbWriter().number(1, k.id).number(2, d.ino).bytes(3, k.name).number(4, static_cast<uint32_t>(d.type)).text();
    });
  }

  Status parents() {
    const auto message = [](Ino ino, Ino parent, int64_t count) { return PbWriter().number(1, ino).number(2, parent).number(3, word(count)).text(); };
    if (!store_.traits().parentsFromDentries)
      return records<int64_t>(Segment::parent, Kind::parentCount, [&](const Key& k, int64_t v) { return message(k.id, k.sub, v); });
    for (auto& [ino, parents] : linked_)
      for (auto& [parent, count] : parents) TRY(add(Segment::parent, batchField(Segment::parent), message(ino, parent, count)));
    return flush(Segment::parent);
  }

  Status sustained() {
    std::map<SessionId, std::vector<Ino>> kept;   // as many as files are open and deleted
    TRY(view_->each(Kind::sustained, [&](const Key& key, const Value&) -> Status {
      kept[key.id].push_back(key.sub);
      return {};
    }));
    for (auto& [sid, inodes] : kept) {
      PbWriter list;
      for (Ino ino : inodes) list.varint(ino);
      TRY(add(Segment::sustained, batchField(Segment::sustained), PbWriter().number(1, sid).bytes(2, list.text()).text()));
    }
    return flush(Segment::sustained);
  }

  Status footer() {
    PbWriter out;
    out.number(1, kBackupMagic).number(2, kBackupVersion);
    for (auto& [name, info] : infos_) {
      PbWriter offsets;
      for (uint64_t o : info.offsets) offsets.varint(o);
      PbWriter value;
      value.bytes(1, offsets.text()).number(2, info.count);
      out.message(3, PbWriter().bytes(1, name).message(2, value.text()).text());
    }
    std::string bytes;
    appendBig(bytes, kBackupMagic);
    bytes += out.text();
    appendBig(bytes, uint64_t{out.text().size()});
    return write(bytes);
  }

  MetaStore& store_;
  const DumpOptions& options_;
  const DumpSink& sink_;
  const DumpProgress& progress_;
  DumpView* view_ = nullptr;
  PbWriter batch_;
  size_t inBatch_ = 0;
  uint64_t written_ = 0, records_ = 0;
  std::map<std::string, Info> infos_;
  std::unordered_map<Ino, std::map<Ino, int64_t>> linked_;   // hard-linked files: their parents, where the store does not keep them
};

}  // namespace

Status dumpBinary(Meta& meta, const DumpOptions& options, const DumpSink& sink, const DumpProgress& progress) {
  return withDumpView(meta.store(), [&](DumpView& view) { return BinaryDumper(meta.store(), options, sink, progress).run(view); });
}

}  // namespace aquifer::meta
