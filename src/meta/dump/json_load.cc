// Reads a JSON dump as a stream. Small values (an attribute, a list of chunks) are built as documents; the tree is walked with a
// stack, so that memory follows the depth and not the size. What can be counted (links, sums, ids) is counted, not believed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <streambuf>

#include "base/log.h"
#include "meta/dump/dump.h"
#include "meta/dump/escape.h"
#include "meta/dump/load_batch.h"
#include "meta/model/json_text.h"

namespace aquifer::meta {
namespace {

constexpr size_t kMaxDepth = 10'000;      // of directories
constexpr size_t kMaxValueDepth = 32;     // of a small document
constexpr size_t kBuffer = 1 << 20;

class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(const DumpSource& source) : source_(source), bytes_(kBuffer, '\0') {}
  const Status& status() const { return status_; }

 protected:
  int_type underflow() override {
    if (!status_) return traits_type::eof();
    auto n = source_(bytes_.data(), bytes_.size());
    if (!n) {
      status_ = n.status();
      return traits_type::eof();
    }
    if (*n == 0) return traits_type::eof();
    setg(bytes_.data(), bytes_.data(), bytes_.data() + *n);
    return traits_type::to_int_type(bytes_[0]);
  }

 private:
  const DumpSource& source_;
  std::string bytes_;
  Status status_;
};

FileType typeOf(const std::string& word) {
  static const std::map<std::string, FileType> types{{"regular", FileType::regular},       {"directory", FileType::directory},
                                                     {"symlink", FileType::symlink},       {"fifo", FileType::fifo},
                                                     {"blockdev", FileType::blockDevice}, {"chardev", FileType::charDevice},
                                                     {"socket", FileType::socket}};
  auto it = types.find(word);
  return it == types.end() ? FileType::none : it->second;
}

// Written with a point or an exponent it may be of any size: what does not fit is no number here.
template <class T>
std::optional<T> integer(const Json& value) {
  if (value.is_number_integer()) return value.get<T>();
  const double d = value.is_number_float() ? value.get<double>() : NAN;
  if (!(d >= static_cast<double>(std::numeric_limits<T>::min()) && d < std::ldexp(1.0, std::numeric_limits<T>::digits))) return std::nullopt;
  return static_cast<T>(d);
}

template <class T>
T number(const Json& object, const char* name, T otherwise = 0) {
  auto it = object.find(name);
  return it != object.end() ? integer<T>(*it).value_or(otherwise) : otherwise;
}

std::string text(const Json& object, const char* name) {
  auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Time timeOf(const Json& a, const char* seconds, const char* nanos) {
  return {number<int64_t>(a, seconds), std::min<uint32_t>(number<uint32_t>(a, nanos), 999'999'999)};
}

// What is known of an entry while its object is read.
struct Node {
  std::string name;          // in its parent; empty for the two roots
  bool hasAttr = false, trash = false;   // trash: the root of the trash
  Ino ino = 0;
  Attr attr;
  Json symlink, xattrs, aclAccess, aclDefault, chunks;
  // Of a directory, as its children come:
  DirStat stat;              // of the direct ones
  uint32_t subdirs = 0;
  int64_t space = 0, inodes = 0;   // of everything below, for quotas
};

struct Links {
  Attr attr;
  std::map<Ino, int64_t> parents;
};

class Loader {
 public:
  Loader(Meta& meta, const DumpProgress& progress) : store_(meta.store()), batch_(store_, progress) {}

  Status begin() { return beginLoad(store_); }
  Result<LoadReport> finish();

  // ---- the top of the document ----
  Status top(const std::string& name, const Json& value);
  bool wanted(const std::string& name) const {
    return name == "Setting" || name == "Counters" || name == "Quotas" || name == "UserQuotas" || name == "GroupQuotas";
  }
  // ---- the tree ----
  Status open(std::string name, bool trash);     // an entry's object begins
  Status field(const std::string& name, Json value);
  Status enter();                                // its "entries" begin
  Status close();                                // its object ends
  size_t depth() const { return stack_.size(); }

 private:
  Status readAttr(const Json& a);
  Status writeContents(Node& n);                 // all but the node record
  Result<uint32_t> aclId(const Json& rule);
  Status charge(const Node& n);
  Status quotas(const Json& all, Kind kind);

  MetaStore& store_;
  LoadBatch batch_;
  std::vector<Node> stack_;
  std::optional<Format> format_;
  std::map<std::string, int64_t> counters_;
  std::map<QuotaKey, Quota> quotas_;
  std::set<Ino> limited_;                        // directories of the dump that have a quota: it may name others too
  std::map<Ino, Links> links_;                   // files with several names, until all of them are known
  std::vector<std::pair<AclRule, uint32_t>> acls_;
  std::map<std::string, uint32_t> aclIds_;       // encoded rule -> id
  int64_t usedSpace_ = 0, usedInodes_ = 0;
  Ino maxIno_ = kRootIno, maxTrash_ = kTrashIno;
  SliceId maxSlice_ = 0;
  bool sawTree_ = false;
};

Status Loader::quotas(const Json& all, Kind kind) {
  if (!all.is_object()) return Status(Code::corrupt, "quotas are not an object");
  for (auto& [id, q] : all.items()) {
    if (id.empty() || id.size() > 19 || id.find_first_not_of("0123456789") != std::string::npos || !q.is_object())
      return Status(Code::corrupt, fmt::format("quota {} is not one", id));
    quotas_[{kind, std::stoull(id)}] = {.maxSpace = number<int64_t>(q, "maxSpace", -1), .maxInodes = number<int64_t>(q, "maxInodes", -1)};
  }
  return {};
}

Status Loader::top(const std::string& name, const Json& value) {
  if (name == "Setting") {
    TRY_ASSIGN(format_, parseFormat(value.dump()));
    return {};
  }
  if (name == "Counters") {
    if (!value.is_object()) return Status(Code::corrupt, "Counters is not an object");
    for (auto& [word, n] : value.items())
      if (auto value = integer<int64_t>(n)) counters_[word] = *value;
    return {};
  }
  if (name == "Quotas") return quotas(value, Kind::dirQuota);
  return quotas(value, name == "UserQuotas" ? Kind::userQuota : Kind::groupQuota);
}

Status Loader::open(std::string name, bool trash) {
  if (stack_.size() >= kMaxDepth) return Status(Code::corrupt, "directories are nested too deeply");
  if (!format_) return Status(Code::corrupt, "the tree comes before the setting");
  if (stack_.empty()) {
    if (!trash) sawTree_ = true;
  } else {
    name = unescapeDump(name);
    if (name.empty() || name.size() > kMaxName || name == "." || name == ".." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
      return Status(Code::corrupt, fmt::format("impossible name \"{}\" in directory {}", escapeDump(name), stack_.back().ino));
  }
  stack_.emplace_back();
  stack_.back().name = std::move(name);
  stack_.back().trash = stack_.size() == 1 && trash;
  return {};
}

Status Loader::readAttr(const Json& a) {
  Node& n = stack_.back();
  if (!a.is_object()) return Status(Code::corrupt, fmt::format("attr of {} is not an object", n.name));
  n.ino = number<uint64_t>(a, "inode");
  n.attr.flags = number<uint8_t>(a, "flags");
  n.attr.type = typeOf(text(a, "type"));
  n.attr.mode = number<uint16_t>(a, "mode") & 07777;
  n.attr.uid = number<uint32_t>(a, "uid");
  n.attr.gid = number<uint32_t>(a, "gid");
  n.attr.atime = timeOf(a, "atime", "atimensec");
  n.attr.mtime = timeOf(a, "mtime", "mtimensec");
  n.attr.ctime = timeOf(a, "ctime", "ctimensec");
  n.attr.length = number<uint64_t>(a, "length");
  n.attr.rdev = number<uint32_t>(a, "rdev");
  n.attr.tier = number<uint8_t>(a, "tier");
  n.attr.nlink = number<uint32_t>(a, "nlink");
  if (n.ino == 0 || n.attr.type == FileType::none)
    return Status(Code::corrupt, fmt::format("entry \"{}\" has inode {} and type \"{}\"", escapeDump(n.name), n.ino, escapeDump(text(a, "type"))));
  if (n.attr.length > kMaxFileSize) return Status(Code::corrupt, fmt::format("inode {} has an impossible length {}", n.ino, n.attr.length));
  const bool root = stack_.size() == 1;
  if (root && !n.trash && n.ino < kSpecialIno) {
    maxIno_ = std::max(maxIno_, n.ino);
    n.ino = n.ino == 0 ? 0 : kRootIno;   // the dump of a sub-directory becomes a volume of its own
  }
  if (root && (!n.attr.isDir() || n.ino != (n.trash ? kTrashIno : kRootIno)))
    return Status(Code::corrupt, fmt::format("the root of a tree is inode {}, not a root", n.ino));
  if (!root && (n.ino == kRootIno || n.ino == kTrashIno || (n.ino >= kSpecialIno && !isTrash(n.ino))))
    return Status(Code::corrupt, fmt::format("entry \"{}\" has the reserved inode {}", escapeDump(n.name), n.ino));
  if (isTrash(n.ino))
    maxTrash_ = std::max(maxTrash_, n.ino);
  else
    maxIno_ = std::max(maxIno_, n.ino);
  n.attr.parent = root ? kRootIno : stack_[stack_.size() - 2].ino;
  n.hasAttr = true;
  return {};
}

Status Loader::field(const std::string& name, Json value) {
  Node& n = stack_.back();
  if (name == "attr") return readAttr(value);
  if (name == "symlink") n.symlink = std::move(value);
  else if (name == "xattrs") n.xattrs = std::move(value);
  else if (name == "posix_acl_access") n.aclAccess = std::move(value);
  else if (name == "posix_acl_default") n.aclDefault = std::move(value);
  else if (name == "chunks") n.chunks = std::move(value);
  return {};
}

Status Loader::enter() {
  const Node& n = stack_.back();
  if (!n.hasAttr || !n.attr.isDir()) return Status(Code::corrupt, fmt::format("entries of \"{}\", which is not a directory", escapeDump(n.name)));
  return {};
}

Result<uint32_t> Loader::aclId(const Json& j) {
  if (!j.is_object()) return 0u;
  AclRule rule;
  rule.owner = number<uint16_t>(j, "owner", AclRule::kAbsent);
  rule.group = number<uint16_t>(j, "group", AclRule::kAbsent);
  rule.other = number<uint16_t>(j, "other", AclRule::kAbsent);
  rule.mask = number<uint16_t>(j, "mask", AclRule::kAbsent);
  for (auto [list, into] : {std::pair{"users", &rule.users}, std::pair{"groups", &rule.groups}}) {
    auto it = j.find(list);
    if (it == j.end() || !it->is_array()) continue;
    for (auto& e : *it)
      if (e.is_object()) into->push_back({number<uint32_t>(e, "id"), number<uint16_t>(e, "perm")});
  }
  auto [it, fresh] = aclIds_.emplace(encodeAclRule(rule), static_cast<uint32_t>(aclIds_.size() + 1));
  if (fresh) TRY(batch_.put(key::acl(it->second), rule));
  return it->second;
}

Status Loader::writeContents(Node& n) {
  if (n.attr.type == FileType::symlink) {
    const std::string target = n.symlink.is_string() ? unescapeDump(n.symlink.get<std::string>()) : std::string();
    if (target.empty() || target.size() > kMaxSymlink) return Status(Code::corrupt, fmt::format("symlink {} has an impossible target", n.ino));
    n.attr.length = target.size();
    TRY(batch_.put(key::symlink(n.ino), target));
  }
  if (n.attr.isDir()) n.attr.length = 4096;
  if (n.xattrs.is_array())
    for (auto& x : n.xattrs) {
      const std::string name = x.is_object() ? unescapeDump(text(x, "name")) : std::string(), value = x.is_object() ? unescapeDump(text(x, "value")) : "";
      if (name.empty() || name.size() > kMaxXattrName || value.size() > kMaxXattrValue)
        return Status(Code::corrupt, fmt::format("inode {} has an impossible extended attribute", n.ino));
      TRY(batch_.put(key::xattr(n.ino, name), value));
    }
  TRY_ASSIGN(n.attr.accessAcl, aclId(n.aclAccess));
  TRY_ASSIGN(n.attr.defaultAcl, aclId(n.aclDefault));
  if (!n.chunks.is_array()) return {};
  for (auto& c : n.chunks) {
    if (!c.is_object() || !c.contains("slices") || !c["slices"].is_array()) return Status(Code::corrupt, fmt::format("inode {} has a damaged chunk", n.ino));
    const auto index = number<uint64_t>(c, "index");
    SliceList list;
    for (auto& s : c["slices"]) {
      if (!s.is_object()) return Status(Code::corrupt, fmt::format("inode {} has a damaged slice", n.ino));
      Slice slice{number<uint32_t>(s, "pos"), number<uint64_t>(s, s.contains("chunkid") ? "chunkid" : "id"), number<uint32_t>(s, "size"),
                  number<uint32_t>(s, "off"), number<uint32_t>(s, "len")};
      if (uint64_t{slice.pos} + slice.len > kChunkSize || uint64_t{slice.off} + slice.len > std::max<uint64_t>(slice.size, slice.id ? 0 : kChunkSize))
        return Status(Code::corrupt, fmt::format("inode {} has an impossible slice {} in chunk {}", n.ino, slice.id, index));
      maxSlice_ = std::max(maxSlice_, slice.id);
      TRY(batch_.addRef(slice.id, slice.size));
      list.push_back(slice);
    }
    if (index >= (kMaxFileSize >> kChunkBits)) return Status(Code::corrupt, fmt::format("inode {} has an impossible chunk {}", n.ino, index));
    if (!list.empty()) TRY(batch_.put(key::chunk(n.ino, static_cast<uint32_t>(index)), std::move(list)));
  }
  return {};
}

// Usage of a node that counts once, however many names it has.
Status Loader::charge(const Node& n) {
  if (n.ino == kRootIno || n.ino == kTrashIno) return {};
  usedSpace_ += spaceOf(n.attr);
  ++usedInodes_;
  if (!format_->userGroupQuota || isTrash(n.ino)) return {};
  for (const QuotaKey& owner : {QuotaKey{Kind::userQuota, n.attr.uid}, QuotaKey{Kind::groupQuota, n.attr.gid}}) {
    Quota& q = quotas_[owner];
    q.usedSpace += spaceOf(n.attr);
    ++q.usedInodes;
  }
  return {};
}

Status Loader::close() {
  Node n = std::move(stack_.back());
  stack_.pop_back();
  if (!n.hasAttr) return Status(Code::corrupt, fmt::format("entry \"{}\" has no attr", escapeDump(n.name)));
  const bool shared = !n.attr.isDir() && n.attr.nlink > 1;
  const bool again = shared && links_.contains(n.ino);
  if (!again) {
    TRY(writeContents(n));
    TRY(charge(n));
  } else {
    n.attr.length = links_[n.ino].attr.length;
  }
  if (n.attr.isDir()) {
    n.attr.nlink = isTrash(n.ino) ? 2 : 2 + n.subdirs;   // those of the trash never change
    if (format_->dirStats && n.ino != kTrashIno) TRY(batch_.put(key::dirStat(n.ino), n.stat));
    if (auto q = quotas_.find({Kind::dirQuota, n.ino}); q != quotas_.end()) {
      q->second.usedSpace = n.space;
      q->second.usedInodes = n.inodes;
      limited_.insert(n.ino);
    }
  }
  if (!shared) TRY(batch_.put(key::node(n.ino), n.attr));
  if (stack_.empty()) return {};
  Node& parent = stack_.back();
  TRY(batch_.put(key::dentry(parent.ino, n.name), Dentry{n.attr.type, n.ino}));
  if (shared) {
    Links& links = links_[n.ino];
    if (!again) links.attr = n.attr;
    ++links.parents[parent.ino];
  }
  const int64_t space = spaceOf(n.attr);
  parent.stat.length += n.attr.isRegular() ? static_cast<int64_t>(n.attr.length) : 0;
  parent.stat.space += space;
  ++parent.stat.inodes;
  parent.space += space + n.space;
  parent.inodes += 1 + n.inodes;
  if (n.attr.isDir()) ++parent.subdirs;
  return {};
}

Result<LoadReport> Loader::finish() {
  if (!format_ || !sawTree_ || !stack_.empty()) return Status(Code::corrupt, "the dump has no setting or no tree");
  for (auto& [ino, links] : links_) {
    int64_t names = 0;
    for (auto& [parent, count] : links.parents) names += count;
    links.attr.nlink = static_cast<uint32_t>(names);
    links.attr.parent = names == 1 ? links.parents.begin()->first : 0;
    TRY(batch_.put(key::node(ino), links.attr));
    if (names > 1)
      for (auto& [parent, count] : links.parents) TRY(batch_.put(key::parentCount(ino, parent), count));
  }
  for (auto& [key, quota] : quotas_)
    if (key.kind != Kind::dirQuota || limited_.contains(key.id)) TRY(batch_.put({key.kind, key.id, 0, {}}, quota));
  if (!aclIds_.empty()) TRY(batch_.put(key::counter(counter::kAclMaxId), static_cast<int64_t>(aclIds_.size())));
  // Never below what the volume had reached: an object or a cached block of a slice that the dump does not know may still exist.
  const auto reached = [&](const char* word, uint64_t counted) { return std::max<int64_t>(counters_[word], static_cast<int64_t>(counted)); };
  TRY(batch_.put(key::counter(counter::kNextInode), reached("nextInodes", maxIno_ + 1)));
  TRY(batch_.put(key::counter(counter::kNextChunk), reached("nextChunk", maxSlice_ + 1)));
  TRY(batch_.put(key::counter(counter::kNextSession), reached("nextSession", 0)));
  TRY(batch_.put(key::counter(counter::kNextTrash), reached("nextTrash", maxTrash_ - kTrashIno)));
  TRY(batch_.put(key::counter(counter::kUsedSpace), usedSpace_));
  TRY(batch_.put(key::counter(counter::kTotalInodes), usedInodes_));
  TRY(batch_.put(key::counter(counter::kNextCleanupSlices), int64_t{0}));
  return finishLoad(store_, batch_, *format_);
}

// The events of the parser. A small document is built when `building_`; objects of entries are handed to the loader.
class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Events(Loader& loader) : loader_(loader) {}
  const Status& status() const { return status_; }

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(v); }
  bool number_unsigned(number_unsigned_t v) override { return value(v); }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool string(string_t& v) override { return value(v); }
  bool binary(binary_t&) override { return fail("binary values"); }
  bool start_object(std::size_t) override { return start(Json::object()); }
  bool start_array(std::size_t) override { return start(Json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& k) override {
    if (skipping_) return true;
    if (!building_.empty()) {
      keys_.back() = k;
      return true;
    }
    key_ = k;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    if (status_) status_ = Status(Code::corrupt, fmt::format("not JSON at byte {}: {}", position, e.what()));
    return false;
  }

 private:
  enum class Level { document, entry, entries };

  bool fail(const char* what) {
    status_ = Status(Code::corrupt, fmt::format("the dump holds {} where none may be", what));
    return false;
  }
  bool check(Status s) {
    if (s) return true;
    status_ = std::move(s);
    return false;
  }

  bool start(Json container) {
    if (skipping_) {
      ++skipping_;
      return true;
    }
    if (!building_.empty()) {
      if (building_.size() >= kMaxValueDepth) return fail("values nested so deeply");
      building_.push_back(std::move(container));
      keys_.emplace_back();
      return true;
    }
    if (levels_.empty()) {
      if (!container.is_object()) return fail("something that is not an object");
      levels_.push_back(Level::document);
      return true;
    }
    switch (levels_.back()) {
      case Level::document:
        if (key_ == "FSTree" || key_ == "Trash") {
          if (!container.is_object()) return fail("a tree that is not an object");
          levels_.push_back(Level::entry);
          return check(loader_.open({}, key_ == "Trash"));
        }
        if (!loader_.wanted(key_)) {
          skipping_ = 1;
          return true;
        }
        break;
      case Level::entries:
        if (!container.is_object()) return fail("an entry that is not an object");
        levels_.push_back(Level::entry);
        return check(loader_.open(key_, false));
      case Level::entry:
        if (key_ == "entries") {
          if (!container.is_object()) return fail("entries that are not an object");
          levels_.push_back(Level::entries);
          return check(loader_.enter());
        }
        break;
    }
    building_.push_back(std::move(container));
    keys_.emplace_back();
    return true;
  }

  bool end() {
    if (skipping_) {
      --skipping_;
      return true;
    }
    if (!building_.empty()) {
      Json done = std::move(building_.back());
      building_.pop_back();
      keys_.pop_back();
      return place(std::move(done));
    }
    const Level level = levels_.back();
    levels_.pop_back();
    return level != Level::entry || check(loader_.close());
  }

  template <class T>
  bool value(T&& v) {
    return skipping_ ? true : place(Json(std::forward<T>(v)));
  }

  // A finished value: into the document that is being built, or to the loader.
  bool place(Json v) {
    if (!building_.empty()) {
      Json& into = building_.back();
      if (into.is_array())
        into.push_back(std::move(v));
      else
        into[keys_.back()] = std::move(v);
      return true;
    }
    if (levels_.empty()) return fail("a bare value");
    switch (levels_.back()) {
      case Level::document: return !loader_.wanted(key_) || v.is_null() || check(loader_.top(key_, v));
      case Level::entry: return check(loader_.field(key_, std::move(v)));
      case Level::entries: break;
    }
    return fail("an entry that is not an object");
  }

  Loader& loader_;
  Status status_;
  std::string key_;
  std::vector<Level> levels_;
  std::vector<Json> building_;
  std::vector<std::string> keys_;
  size_t skipping_ = 0;
};

}  // namespace

Result<LoadReport> loadJson(Meta& meta, const DumpSource& source, const DumpProgress& progress) {
  Loader loader(meta, progress);
  TRY(loader.begin());
  SourceBuffer buffer(source);
  std::istream in(&buffer);
  Events events(loader);
  const bool good = nlohmann::json::sax_parse(in, &events);
  if (!buffer.status()) return buffer.status();
  if (!events.status()) return events.status();
  if (!good) return Status(Code::corrupt, "not a dump");
  return loader.finish();
}

}  // namespace aquifer::meta
