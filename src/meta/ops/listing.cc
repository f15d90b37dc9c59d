// Walks over records of one kind for tools: sessions, slices, deleted files. Pages keep memory and transactions small; what
// changes between two pages may or may not be seen.
#include "meta/ops/meta_impl.h"

namespace aquifer::meta {
namespace {

constexpr size_t kPage = 1000;

// visit(key, value) for every record of the kind, without a transaction open.
Status eachRecord(MetaImpl& meta, Kind kind, const std::function<Status(const Key&, const Value&)>& visit) {
  std::optional<Key> after;
  for (;;) {
    std::vector<std::pair<Key, Value>> page;
    TRY(meta.read("list", [&](MetaTxn& tx) {
      page.clear();
      return tx.list({.kind = kind, .after = after, .limit = kPage}, [&](const Key& key, const Value& value) {
        page.emplace_back(key, value);
        return true;
      });
    }));
    for (const auto& [key, value] : page) TRY(visit(key, value));
    if (page.size() < kPage) return {};
    after = page.back().first;
  }
}

Status wrongKind() { return Status(Code::corrupt, "record holds a value of another kind"); }

// Locks are stored by inode: one walk finds those of all sessions.
Status addLocks(MetaTxn& tx, std::vector<SessionDetail>& sessions) {
  const auto of = [&](SessionId sid) -> SessionDetail* {
    for (auto& s : sessions)
      if (s.sid == sid) return &s;
    return nullptr;
  };
  TRY(tx.list({.kind = Kind::flock}, [&](const Key& key, const Value& value) {
    if (const auto* table = std::get_if<FlockTable>(&value))
      for (const auto& e : *table)
        if (auto* s = of(e.sid)) s->flocks.emplace_back(key.id, e);
    return true;
  }));
  return tx.list({.kind = Kind::plock}, [&](const Key& key, const Value& value) {
    if (const auto* table = std::get_if<PlockTable>(&value))
      for (const auto& e : *table)
        if (auto* s = of(e.sid)) s->plocks.emplace_back(key.id, e);
    return true;
  });
}

SessionDetail detailOf(SessionId sid, const SessionRecord& record) {
  SessionDetail d;
  d.sid = sid;
  d.record = record;
  if (auto info = decodeSessionInfo(record.info)) d.info = std::move(*info);  // unreadable: shown without its texts
  return d;
}

Status addSustained(MetaTxn& tx, SessionDetail& d) {
  return tx.list({.kind = Kind::sustained, .id = d.sid}, [&](const Key& key, const Value&) {
    d.sustained.push_back(key.sub);
    return true;
  });
}

}  // namespace

Result<std::vector<SessionDetail>> MetaImpl::sessions() {
  std::vector<SessionDetail> out;
  TRY(read("sessions", [&](MetaTxn& tx) -> Status {
    out.clear();
    return tx.list({.kind = Kind::session}, [&](const Key& key, const Value& value) {
      if (const auto* record = std::get_if<SessionRecord>(&value)) out.push_back(detailOf(key.id, *record));
      return true;
    });
  }));
  return out;
}

Result<SessionDetail> MetaImpl::session(SessionId sid) {
  std::vector<SessionDetail> one;
  TRY(read("session", [&](MetaTxn& tx) -> Status {
    one.clear();
    TRY_ASSIGN(const auto record, tx.find<SessionRecord>(key::session(sid)));
    if (!record) return Status(Code::notFound, "session not found: " + std::to_string(sid));
    one.push_back(detailOf(sid, *record));
    TRY(addSustained(tx, one.front()));
    return addLocks(tx, one);
  }));
  return std::move(one.front());
}

Status MetaImpl::listSlices(const std::function<Status(Ino, const Slice&)>& visit) {
  return eachRecord(*this, Kind::chunk, [&](const Key& key, const Value& value) -> Status {
    const auto* records = std::get_if<SliceList>(&value);
    if (!records) return wrongKind();
    for (const auto& s : *records)
      if (s.id != 0) TRY(visit(key.id, s));
    return {};
  });
}

Status MetaImpl::listTrashSlices(const std::function<Status(SliceId, uint32_t size, int64_t at)>& visit) {
  return eachRecord(*this, Kind::delSlices, [&](const Key& key, const Value& value) -> Status {
    const auto* slices = std::get_if<DelayedList>(&value);
    if (!slices) return wrongKind();
    for (const auto& s : *slices) TRY(visit(s.id, s.size, static_cast<int64_t>(key.sub)));
    return {};
  });
}

Status MetaImpl::listDelFiles(const std::function<Status(Ino, uint64_t length, int64_t at)>& visit) {
  return eachRecord(*this, Kind::delFile, [&](const Key& key, const Value& value) -> Status {
    const auto* at = std::get_if<int64_t>(&value);
    return at ? visit(key.id, key.sub, *at) : wrongKind();
  });
}

Result<std::vector<std::pair<SliceId, uint32_t>>> MetaImpl::pendingSlices() { return store_->unusedSlices(SIZE_MAX); }

Status MetaImpl::runJob(std::string_view job, uint64_t* removed) {
  if (config_.readOnly) return Code::readOnly;
  return jobs_->run(job, removed);
}

}  // namespace aquifer::meta
