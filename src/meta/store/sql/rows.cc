#include "meta/store/sql/rows.h"

#include "meta/model/codec.h"
#include "meta/store/sql/statements.h"

namespace aquifer::meta::sql {

namespace {

constexpr int64_t kMicros = 1'000'000;

Status wrongKind() { return Status(Code::corrupt, "a value of another kind was put to a record"); }

std::string textOf(Statement& row, int column) { return std::string(row.bytes(column)); }

Result<Value> readAcl(Statement& row, int column) {
  AclRule rule;
  auto right = [&](int i) { return static_cast<uint16_t>(row.integer(column + i)); };
  rule.owner = right(0);
  rule.group = right(1);
  rule.mask = right(2);
  rule.other = right(3);
  TRY_ASSIGN(rule.users, decodeAclEntries(row.bytes(column + 4)));
  TRY_ASSIGN(rule.groups, decodeAclEntries(row.bytes(column + 5)));
  return Value(std::move(rule));
}

void bindNode(const Attr& a, const std::vector<bool>& present, Statement& s) {
  const int64_t columns[kNodeColumnCount] = {static_cast<int64_t>(a.type),
                                             a.flags,
                                             a.mode,
                                             a.uid,
                                             a.gid,
                                             microsOf(a.atime),
                                             microsOf(a.mtime),
                                             microsOf(a.ctime),
                                             restNanosOf(a.atime),
                                             restNanosOf(a.mtime),
                                             restNanosOf(a.ctime),
                                             a.nlink,
                                             static_cast<int64_t>(a.length),
                                             a.rdev,
                                             static_cast<int64_t>(a.parent),
                                             a.accessAcl,
                                             a.defaultAcl,
                                             a.tier};
  for (size_t i = 0; i < present.size(); ++i)
    if (present[i]) s.bind(columns[i]);
}

// Keeps a pointer to `bytes` in the statement: `scratch` must not reallocate its strings, so it is reserved by the caller.
void bindScratch(std::string bytes, Statement& s, std::vector<std::string>& scratch) {
  scratch.push_back(std::move(bytes));
  s.bindBlob(scratch.back());
}

Status bindString(Kind kind, const std::string& v, Statement& s) {
  if (kind == Kind::setting || kind == Kind::changeLog)
    s.bindText(v);
  else
    s.bindBlob(v);
  return {};
}

}  // namespace

int64_t microsOf(const Time& t) { return t.sec * kMicros + t.nsec / 1000; }
int64_t restNanosOf(const Time& t) { return t.nsec % 1000; }
Time timeOf(int64_t micros, int64_t restNanos) {
  int64_t sec = micros / kMicros, rest = micros % kMicros;
  if (rest < 0) {
    --sec;
    rest += kMicros;
  }
  // Only 0-999 is ever written; anything else must not leave the range of a Time.
  if (restNanos < 0 || restNanos > 999) restNanos = 0;
  return {sec, static_cast<uint32_t>(rest * 1000 + restNanos)};
}

Attr readNode(Statement& row, int c) {
  Attr a;
  a.type = static_cast<FileType>(row.integer(c));
  a.flags = static_cast<uint8_t>(row.integer(c + 1));
  a.mode = static_cast<uint16_t>(row.integer(c + 2));
  a.uid = static_cast<uint32_t>(row.integer(c + 3));
  a.gid = static_cast<uint32_t>(row.integer(c + 4));
  a.atime = timeOf(row.integer(c + 5), row.integer(c + 8));
  a.mtime = timeOf(row.integer(c + 6), row.integer(c + 9));
  a.ctime = timeOf(row.integer(c + 7), row.integer(c + 10));
  a.nlink = static_cast<uint32_t>(row.integer(c + 11));
  a.length = static_cast<uint64_t>(row.integer(c + 12));
  a.rdev = static_cast<uint32_t>(row.integer(c + 13));
  a.parent = static_cast<Ino>(row.integer(c + 14));
  a.accessAcl = static_cast<uint32_t>(row.integer(c + 15));
  a.defaultAcl = static_cast<uint32_t>(row.integer(c + 16));
  a.tier = static_cast<uint8_t>(row.integer(c + 17));
  return a;
}

Result<Value> readValue(Kind kind, Statement& row, int c) {
  switch (kind) {
    case Kind::counter:
    case Kind::sliceRef:
    case Kind::sustained:
    case Kind::delFile:
    case Kind::detached: return Value(row.integer(c));
    case Kind::setting:
    case Kind::symlink:
    case Kind::xattr:
    case Kind::changeLog: return Value(textOf(row, c));
    case Kind::node: return Value(readNode(row, c));
    case Kind::dentry: return Value(Dentry{static_cast<FileType>(row.integer(c + 1)), static_cast<Ino>(row.integer(c))});
    case Kind::chunk: {
      TRY_ASSIGN(auto slices, decodeSlices(row.bytes(c)));
      return Value(std::move(slices));
    }
    case Kind::delSlices: {
      TRY_ASSIGN(auto slices, decodeDelayed(row.bytes(c)));
      return Value(std::move(slices));
    }
    case Kind::session: return Value(SessionRecord{row.integer(c), textOf(row, c + 1), false});
    case Kind::dirStat: return Value(DirStat{row.integer(c), row.integer(c + 1), row.integer(c + 2)});
    case Kind::dirQuota:
    case Kind::userQuota:
    case Kind::groupQuota: return Value(Quota{row.integer(c), row.integer(c + 1), row.integer(c + 2), row.integer(c + 3)});
    case Kind::acl: return readAcl(row, c);
    case Kind::parentCount:
    case Kind::flock:
    case Kind::plock: break;
  }
  return wrongKind();
}

Status bindValue(Kind kind, const Value& value, const std::vector<bool>& nodeColumns, Statement& s,
                 std::vector<std::string>& scratch) {
  scratch.reserve(scratch.size() + 2);
  if (kind == Kind::sustained) return {};
  if (auto* n = std::get_if<int64_t>(&value)) {
    s.bind(*n);
  } else if (auto* text = std::get_if<std::string>(&value)) {
    return bindString(kind, *text, s);
  } else if (auto* attr = std::get_if<Attr>(&value); attr && kind == Kind::node) {
    bindNode(*attr, nodeColumns, s);
  } else if (auto* dentry = std::get_if<Dentry>(&value); dentry && kind == Kind::dentry) {
    s.bind(static_cast<int64_t>(dentry->ino));
    s.bind(static_cast<int64_t>(dentry->type));
  } else if (auto* slices = std::get_if<SliceList>(&value); slices && kind == Kind::chunk) {
    bindScratch(encodeSlices(*slices), s, scratch);
  } else if (auto* delayed = std::get_if<DelayedList>(&value); delayed && kind == Kind::delSlices) {
    bindScratch(encodeDelayed(*delayed), s, scratch);
  } else if (auto* session = std::get_if<SessionRecord>(&value); session && kind == Kind::session) {
    s.bind(session->expire);
    s.bindBlob(session->info);
  } else if (auto* stat = std::get_if<DirStat>(&value); stat && kind == Kind::dirStat) {
    for (auto v : {stat->length, stat->space, stat->inodes}) s.bind(v);
  } else if (auto* quota = std::get_if<Quota>(&value)) {
    for (auto v : {quota->maxSpace, quota->maxInodes, quota->usedSpace, quota->usedInodes}) s.bind(v);
  } else if (auto* rule = std::get_if<AclRule>(&value); rule && kind == Kind::acl) {
    for (auto v : {rule->owner, rule->group, rule->mask, rule->other}) s.bind(int64_t{v});
    bindScratch(encodeAclEntries(rule->users), s, scratch);
    bindScratch(encodeAclEntries(rule->groups), s, scratch);
  } else {
    return wrongKind();
  }
  return {};
}

}  // namespace aquifer::meta::sql
