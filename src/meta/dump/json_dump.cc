// The JSON dump: the setting, the counters, then the tree depth first, names in byte order. Written piece by piece, since a
// volume is larger than memory.
#include <map>
#include <fmt/format.h>

#include <functional>

#include "base/log.h"
#include "meta/dump/dump.h"
#include "meta/dump/escape.h"
#include "meta/dump/view.h"

namespace aquifer::meta {
namespace {

constexpr size_t kPage = 1000;            // entries of a directory read at once
constexpr size_t kMaxBuffered = 200'000;  // entries kept for the directories above; what is more is read again
constexpr size_t kFlush = 1 << 20;

// Attribute lists went through a printer that is wary of HTML.
std::string forHtml(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else if (text.compare(i, 3, "\xE2\x80\xA8") == 0 || text.compare(i, 3, "\xE2\x80\xA9") == 0)
      out += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029", i += 2;
    else
      out += c;
  }
  return out;
}

const char* typeWord(FileType t) {
  switch (t) {
    case FileType::regular: return "regular";
    case FileType::directory: return "directory";
    case FileType::symlink: return "symlink";
    case FileType::fifo: return "fifo";
    case FileType::blockDevice: return "blockdev";
    case FileType::charDevice: return "chardev";
    case FileType::socket: return "socket";
    case FileType::none: break;
  }
  return "unknown";
}

class JsonDumper {
 public:
  JsonDumper(const DumpOptions& options, const DumpSink& sink, const DumpProgress& progress)
      : options_(options), sink_(sink), progress_(progress) {}

  Status run(DumpView& view) {
    view_ = &view;
    out_ = "{\n";
    TRY(setting());
    TRY(counters());
    TRY(sustained());
    TRY(delFiles());
    TRY(quotas("Quotas", Kind::dirQuota));
    TRY(quotas("UserQuotas", Kind::userQuota));
    TRY(quotas("GroupQuotas", Kind::groupQuota));
    TRY(tree("FSTree", options_.root));
    if (!options_.skipTrash && options_.root == kRootIno) {
      out_ += ",\n";
      TRY(tree("Trash", kTrashIno));
    }
    out_ += "\n}\n";
    return flush(true);
  }

 private:
  struct Frame {
    Ino ino = 0;
    std::string after;               // name of the last entry that was written
    std::vector<DirEntry> page;      // the entries that follow
    size_t next = 0;
    bool complete = false;           // `page` reaches to the end of the directory
    bool first = true;
  };

  Status flush(bool all) {
    if (out_.size() < kFlush && !all) return {};
    TRY(sink_(out_));
    out_.clear();
    return {};
  }
  std::string indent(size_t levels) { return std::string(levels * 2, ' '); }

  Status setting() {
    TRY_ASSIGN(const std::string text, view_->setting());
    TRY_ASSIGN(format_, parseFormat(text));
    if (!options_.keepSecrets) {
      if (!format_.secretKey.empty()) format_.secretKey = kRemovedSecret;
      if (!format_.sessionToken.empty()) format_.sessionToken = kRemovedSecret;
    }
    std::string json = formatToJson(format_, 2);
    out_ += "  \"Setting\": ";
    for (char c : json) {
      out_ += c;
      if (c == '\n') out_ += "  ";
    }
    out_ += ",\n";
    return {};
  }

  Status counters() {
    struct Row {
      const char* word;
      std::string_view name;
    };
    const Row rows[] = {{"usedSpace", counter::kUsedSpace},   {"usedInodes", counter::kTotalInodes}, {"nextInodes", counter::kNextInode},
                        {"nextChunk", counter::kNextChunk}, {"nextSession", counter::kNextSession}, {"nextTrash", counter::kNextTrash}};
    std::string text;
    TRY(view_->read([&](MetaTxn& tx) -> Status {
      text = "  \"Counters\": {\n";
      bool first = true;
      for (const Row& row : rows) {
        TRY_ASSIGN(auto value, tx.find<int64_t>(key::counter(row.name)));
        text += fmt::format("{}    \"{}\": {}", first ? "" : ",\n", row.word, value.value_or(0));
        first = false;
      }
      text += "\n  },\n";
      return {};
    }));
    out_ += text;
    return {};
  }

  Status each(Kind kind, const std::function<Status(const Key&, const Value&)>& row) {
    return view_->each(kind, [&](const Key& key, const Value& value) -> Status {
      TRY(row(key, value));
      return flush(false);
    });
  }

  Status sustained() {
    SessionId last = 0;
    bool any = false;
    out_ += "  \"Sustained\": [";
    TRY(each(Kind::sustained, [&](const Key& key, const Value&) -> Status {
      if (any && key.id == last) {
        out_ += fmt::format(",{}", key.sub);
      } else {
        out_ += fmt::format("{}\n    {{\"sid\":{},\"inodes\":[{}", any ? "]}," : "", key.id, key.sub);
      }
      any = true;
      last = key.id;
      return {};
    }));
    out_ += any ? "]}\n  ],\n" : "],\n";
    return {};
  }

  Status delFiles() {
    bool any = false;
    out_ += "  \"DelFiles\": [";
    TRY(each(Kind::delFile, [&](const Key& key, const Value& value) -> Status {
      auto* at = std::get_if<int64_t>(&value);
      out_ += fmt::format("{}\n    {{\"inode\":{},\"length\":{},\"expire\":{}}}", any ? "," : "", key.id, key.sub, at ? *at : 0);
      any = true;
      return {};
    }));
    out_ += any ? "\n  ],\n" : "],\n";
    return {};
  }

  Status quotas(const char* word, Kind kind) {
    if (kind != Kind::dirQuota && options_.root != kRootIno) return {};
    std::map<std::string, Quota> sorted;   // by text: "10" before "2"
    TRY(each(kind, [&](const Key& key, const Value& value) -> Status {
      auto* q = std::get_if<Quota>(&value);
      if (!q || (kind != Kind::dirQuota && q->maxSpace < 0 && q->maxInodes < 0)) return {};
      sorted.emplace(std::to_string(key.id), *q);
      return {};
    }));
    bool any = false;
    for (auto& [id, q] : sorted) {
      out_ += any ? ",\n" : fmt::format("  \"{}\": {{\n", word);
      out_ += fmt::format("    \"{}\": {{\n      \"maxSpace\": {},\n      \"maxInodes\": {}\n    }}", id, q.maxSpace, q.maxInodes);
      any = true;
    }
    if (any) out_ += "\n  },\n";
    return {};
  }

  // ---- the tree ----
  Status tree(const char* word, Ino root) {
    Attr attr;
    TRY(view_->read([&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(auto stored, tx.find<Attr>(key::node(root)));
      if (!stored && root != kTrashIno) return Code::notFound;
      // A volume that never had a trash: the other client writes an empty one.
      attr = stored.value_or(Attr{.type = FileType::directory, .nlink = 2});
      return {};
    }));
    out_ += fmt::format("  \"{}\": {{\n", word);
    depth_ = 2;
    TRY(body(root, attr));
    std::vector<Frame> stack;
    stack.push_back({.ino = root});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.page.size()) {
        buffered_ -= top.page.size();
        top.page.clear(), top.next = 0;
        if (!top.complete) TRY(fill(top));
        if (top.page.empty()) {
          close(top);
          stack.pop_back();
          continue;
        }
      }
      DirEntry entry = std::move(top.page[top.next++]);
      top.after = entry.name;
      if (!entry.attr) {   // a backup without it is worth more than no backup
        LOG_WARN("left out: entry {} of directory {} has no node {}", escapeDump(entry.name), top.ino, entry.dentry.ino);
        continue;
      }
      out_ += top.first ? "" : ",\n";
      top.first = false;
      out_ += indent(depth_) + '"' + escapeDump(entry.name) + "\": {\n";
      ++depth_;
      TRY(body(entry.dentry.ino, *entry.attr));
      if (entry.attr->isDir()) {
        shed(stack);
        stack.push_back({.ino = entry.dentry.ino});
      } else {
        out_ += '\n' + indent(--depth_) + '}';
      }
      TRY(flush(false));
      if (++records_ % 1000 == 0 && progress_ && !progress_(records_)) return Code::interrupted;
    }
    return {};
  }

  Status fill(Frame& frame) {
    TRY(view_->read([&](MetaTxn& tx) -> Status {
      TRY_ASSIGN(frame.page, tx.listDir(frame.ino, frame.after, kPage, true));
      return {};
    }));
    frame.complete = frame.page.size() < kPage;
    buffered_ += frame.page.size();
    return {};
  }

  // Deep trees of wide directories: the pages furthest up are dropped and read again when their turn comes.
  void shed(std::vector<Frame>& stack) {
    for (auto& frame : stack) {
      if (buffered_ <= kMaxBuffered) return;
      buffered_ -= frame.page.size();
      frame.page.clear(), frame.page.shrink_to_fit();
      frame.next = 0;
      frame.complete = false;
    }
  }

  void close(const Frame& frame) {
    if (!frame.first) out_ += '\n';
    depth_ -= 2;
    out_ += indent(depth_ + 1) + "}\n" + indent(depth_) + '}';
  }

  static void nanos(std::string& out, const char* word, uint32_t value) {
    if (value) out += fmt::format(",\"{}\":{}", word, value);
  }

  // Everything of an entry up to and without its closing brace, the opening of "entries" included. depth_ is that of its fields.
  Status body(Ino ino, const Attr& a) {
    std::string text = indent(depth_) + fmt::format("\"attr\": {{\"inode\":{}", ino);
    if (a.flags) text += fmt::format(",\"flags\":{}", a.flags);
    text += fmt::format(",\"type\":\"{}\",\"mode\":{},\"uid\":{},\"gid\":{},\"atime\":{},\"mtime\":{},\"ctime\":{}", typeWord(a.type), a.mode, a.uid,
                        a.gid, a.atime.sec, a.mtime.sec, a.ctime.sec);
    nanos(text, "atimensec", a.atime.nsec);
    nanos(text, "mtimensec", a.mtime.nsec);
    nanos(text, "ctimensec", a.ctime.nsec);
    text += fmt::format(",\"nlink\":{},\"length\":{}", a.nlink, a.isRegular() ? a.length : 0);
    if (a.rdev) text += fmt::format(",\"rdev\":{}", a.rdev);
    if (a.tier) text += fmt::format(",\"tier\":{}", a.tier);
    text += '}';
    TRY(view_->read([&](MetaTxn& tx) -> Status {
      std::string more;
      TRY(details(tx, ino, a, more));
      text += more;
      return {};
    }));
    out_ += text;
    if (a.isDir()) {
      out_ += ",\n" + indent(depth_) + "\"entries\": {\n";
      ++depth_;
    }
    return {};
  }

  Status details(MetaTxn& tx, Ino ino, const Attr& a, std::string& out) {
    const std::string in = ",\n" + indent(depth_);
    if (a.type == FileType::symlink) {
      TRY_ASSIGN(auto target, tx.find<std::string>(key::symlink(ino)));
      out += in + "\"symlink\": \"" + escapeDump(target.value_or("")) + '"';
    }
    std::string xattrs;
    TRY(tx.list({.kind = Kind::xattr, .id = ino}, [&](const Key& key, const Value& value) {
      if (auto* v = std::get_if<std::string>(&value))
        xattrs += fmt::format("{}{{\"name\":\"{}\",\"value\":\"{}\"}}", xattrs.empty() ? "" : ",", forHtml(escapeDump(key.name)), forHtml(escapeDump(*v)));
      return true;
    }));
    if (!xattrs.empty()) out += in + "\"xattrs\": [" + xattrs + ']';
    TRY(acl(tx, in + "\"posix_acl_access\": ", a.accessAcl, out));
    TRY(acl(tx, in + "\"posix_acl_default\": ", a.defaultAcl, out));
    if (a.isRegular()) TRY(chunks(tx, ino, a.length, in, out));
    return {};
  }

  static std::string aclEntries(const std::vector<AclEntry>& entries) {
    if (entries.empty()) return "null";
    std::string out = "[";
    for (const AclEntry& e : entries) out += fmt::format("{}{{\"id\":{},\"perm\":{}}}", out.size() > 1 ? "," : "", e.id, e.rights);
    return out + ']';
  }
  Status acl(MetaTxn& tx, const std::string& head, uint32_t id, std::string& out) {
    if (id == 0) return {};
    TRY_ASSIGN(auto rule, tx.find<AclRule>(key::acl(id)));
    if (!rule) return {};
    out += head + fmt::format("{{\"owner\":{},\"group\":{},\"other\":{},\"mask\":{},\"users\":{},\"groups\":{}}}", rule->owner, rule->group, rule->other,
                              rule->mask, aclEntries(rule->users), aclEntries(rule->groups));
    return {};
  }

  Status chunks(MetaTxn& tx, Ino ino, uint64_t length, const std::string& in, std::string& out) {
    std::vector<std::string> list;
    if (length == 0) return {};
    TRY(tx.list({.kind = Kind::chunk, .id = ino, .below = chunksIn(length)}, [&](const Key& key, const Value& value) {
      auto* slices = std::get_if<SliceList>(&value);
      if (!slices || slices->empty() || key.sub * kChunkSize >= length) return true;
      std::string text;
      for (const Slice& s : *slices) {
        text += fmt::format("{}{{\"id\":{}", text.empty() ? "" : ",", s.id);
        if (s.pos) text += fmt::format(",\"pos\":{}", s.pos);
        text += fmt::format(",\"size\":{}", s.size);
        if (s.off) text += fmt::format(",\"off\":{}", s.off);
        text += fmt::format(",\"len\":{}}}", s.len);
      }
      list.push_back(fmt::format("{{\"index\":{},\"slices\":[{}]}}", key.sub, text));
      return true;
    }));
    if (list.empty()) return {};
    out += in + "\"chunks\": [";
    if (list.size() == 1) {
      out += list[0] + ']';
      return {};
    }
    for (size_t i = 0; i < list.size(); ++i) out += (i ? ",\n" : "\n") + indent(depth_ + 1) + list[i];
    out += '\n' + indent(depth_) + ']';
    return {};
  }

  const DumpOptions& options_;
  const DumpSink& sink_;
  const DumpProgress& progress_;
  DumpView* view_ = nullptr;
  Format format_;
  std::string out_;
  size_t depth_ = 2, buffered_ = 0;
  uint64_t records_ = 0;
};

}  // namespace

Status dumpJson(Meta& meta, const DumpOptions& options, const DumpSink& sink, const DumpProgress& progress) {
  return withDumpView(meta.store(), [&](DumpView& view) { return JsonDumper(options, sink, progress).run(view); });
}

}  // namespace aquifer::meta
