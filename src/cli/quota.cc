// `quota`: limits of directories, users and groups.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "cli/values.h"
#include "cli/volume.h"

namespace aquifer::cli {

namespace {

using meta::Kind;
using meta::Quota;
using meta::QuotaKey;

struct Selector {
  bool given = false;
  Kind kind = Kind::dirQuota;
  std::string path;
  uint32_t id = 0;
};

uint32_t idOption(const Args& args, const char* name) {
  auto v = args.uinteger(name);
  if (v == 0) LOG_FATAL("Invalid --{}: 0 is not allowed", name);
  if (v > UINT32_MAX) LOG_FATAL("Invalid --{}: {} is larger than an id can be", name, v);
  return static_cast<uint32_t>(v);
}

Selector selectorOf(const Args& args) {
  Selector s;
  bool uid = args.isSet("uid"), gid = args.isSet("gid"), path = args.isSet("path") && !args.text("path").empty();
  uint32_t uidValue = uid ? idOption(args, "uid") : 0, gidValue = gid ? idOption(args, "gid") : 0;
  if (uid && gid) LOG_FATAL("Cannot specify both --uid and --gid at the same time");
  if (uid && path) LOG_FATAL("Cannot specify both --uid and --path at the same time");
  if (gid && path) LOG_FATAL("Cannot specify both --gid and --path at the same time");
  s.given = uid || gid || path;
  if (uid) s.kind = Kind::userQuota, s.id = uidValue;
  if (gid) s.kind = Kind::groupQuota, s.id = gidValue;
  if (path) s.path = args.text("path");
  return s;
}

std::string cleanPath(std::string path) {
  if (path.empty() || path[0] != '/') path = "/" + path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Makes the directory and its missing parents, mode 0777, owned by root.
Result<meta::Ino> makePath(meta::Meta& meta, const std::string& path) {
  meta::Ino at = meta::kRootIno;
  for (size_t from = 1; from < path.size();) {
    auto slash = std::min(path.find('/', from), path.size());
    auto name = path.substr(from, slash - from);
    from = slash + 1;
    if (name.empty()) continue;
    auto found = meta.lookup(meta::Context::root(), at, name);
    if (found.is(Code::notFound)) {
      meta::Entry existing;
      found = meta.mknod(meta::Context::root(), at, name, meta::FileType::directory, 0777, 0, 0, {}, &existing);
      if (found.is(Code::exists)) found = existing;
    }
    TRY(found.status());
    if (!found->attr.isDir()) return Code::notDirectory;
    at = found->ino;
  }
  return at;
}

QuotaKey keyOf(meta::Meta& meta, const Selector& s, bool create) {
  if (s.kind != Kind::dirQuota) return {s.kind, s.id};
  auto path = cleanPath(s.path);
  Result<meta::Ino> ino = Code::notFound;
  if (create) {
    // A session: new directories are charged to quotas above, and only a session knows which there are.
    if (auto opened = meta.openSession(); !opened) LOG_FATAL("new session: {}", opened.text());
    ino = makePath(meta, path);
    if (auto closed = meta.closeSession(); !closed) LOG_WARN("close session: {}", closed.text());
  } else {
    auto entry = meta.resolve(meta::Context::root(), path);
    if (entry && !entry->attr.isDir()) LOG_FATAL("resolve dir {}: {}", s.path, codeText(Code::notDirectory));
    if (entry) ino = entry->ino;
    else ino = entry.status();
  }
  if (!ino) LOG_FATAL("resolve dir {}: {}", s.path, ino.status().text());
  return {Kind::dirQuota, *ino};
}

std::string percent(int64_t used, int64_t limit) {
  return limit > 0 ? fmt::format("{}%", std::max<int64_t>(used, 0) * 100 / limit) : "";
}

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::string> rowOf(const std::string& name, const Quota& q) {
  auto used = std::max<int64_t>(q.usedSpace, 0), inodes = std::max<int64_t>(q.usedInodes, 0);
  auto spacePercent = q.maxSpace > 0 ? fmt::format("{}%", static_cast<int64_t>(static_cast<double>(used) * 100 / static_cast<double>(q.maxSpace))) : "";
  return {name,
          q.maxSpace > 0 ? shortSize(static_cast<uint64_t>(q.maxSpace)) : "unchanged",
          shortSize(static_cast<uint64_t>(used)),
          spacePercent,
          q.maxInodes > 0 ? withThousands(q.maxInodes) : "unchanged",
          withThousands(inodes),
          percent(inodes, q.maxInodes)};
}

void printRows(const char* first, Rows rows) {
  if (rows.empty()) return;
  std::sort(rows.begin(), rows.end());
  rows.insert(rows.begin(), {first, "Size", "Used", "Use%", "Inodes", "IUsed", "IUse%"});
  std::fputs(renderTable(rows, 0).c_str(), stdout);
}

const char* headerOf(Kind kind) { return kind == Kind::dirQuota ? "Path" : kind == Kind::userQuota ? "User ID" : "Group ID"; }

std::string nameOf(meta::Meta& meta, const QuotaKey& key, bool mixed) {
  if (key.kind == Kind::userQuota) return (mixed ? "uid:" : "") + std::to_string(key.id);
  if (key.kind == Kind::groupQuota) return (mixed ? "gid:" : "") + std::to_string(key.id);
  auto paths = meta.paths(key.id);
  return paths && !paths->empty() ? paths->front() : fmt::format("inode:{}", key.id);
}

std::string shownName(const Selector& s) { return s.kind == Kind::dirQuota ? cleanPath(s.path) : std::to_string(s.id); }

bool hasLimit(const Quota& q) { return q.maxSpace > 0 || q.maxInodes > 0; }

void set(const Args& args, Volume& volume, const Selector& s) {
  auto& meta = *volume.meta;
  std::optional<int64_t> space, inodes;
  if (args.isSet("capacity")) {
    auto bytes = args.size("capacity", 'G');
    if (bytes > static_cast<uint64_t>(INT64_MAX)) LOG_FATAL("Invalid value \"{}\" for \"capacity\": too large", args.text("capacity"));
    space = static_cast<int64_t>(bytes);
  }
  if (args.isSet("inodes")) {
    if (args.uinteger("inodes") > static_cast<uint64_t>(INT64_MAX)) LOG_FATAL("Invalid value \"{}\" for \"inodes\": too large", args.text("inodes"));
    inodes = static_cast<int64_t>(args.uinteger("inodes"));
  }
  auto key = keyOf(meta, s, args.flag("create"));
  if (s.kind != Kind::dirQuota && !volume.format.userGroupQuota) {
    auto format = volume.format;
    format.userGroupQuota = true;
    if (auto done = meta.init(format, false); !done) LOG_FATAL("enable user and group quotas: {}", done.text());
    if (auto loaded = meta.load(false); loaded) volume.format = *loaded;
  }
  if (auto done = meta.setQuota(key, space, inodes, args.flag("strict")); !done) LOG_FATAL("set quota of {}: {}", shownName(s), done.text());
  // What this call has set; limits that it left alone read `unchanged`.
  printRows(headerOf(s.kind), {rowOf(shownName(s), {.maxSpace = space.value_or(-1), .maxInodes = inodes.value_or(-1)})});
}

void get(Volume& volume, const Selector& s) {
  auto key = keyOf(*volume.meta, s, false);
  auto quota = volume.meta->getQuota(key);
  if (!quota) LOG_FATAL("get quota of {}: {}", shownName(s), quota.status().text());
  if (*quota && (s.kind == Kind::dirQuota || hasLimit(**quota))) printRows(headerOf(s.kind), {rowOf(shownName(s), **quota)});
}

void list(Volume& volume) {
  auto all = volume.meta->listQuotas();
  if (!all) LOG_FATAL("list quotas: {}", all.status().text());
  Rows rows;
  for (auto& [key, quota] : *all) {
    if (!hasLimit(quota)) continue;
    rows.push_back(rowOf(nameOf(*volume.meta, key, true), quota));
  }
  printRows("Path/ID", std::move(rows));
}

int checkOne(const Args& args, Volume& volume, const QuotaKey& key, const std::string& name) {
  std::string message;
  auto same = volume.meta->checkQuota(key, args.flag("repair"), args.flag("strict"), &message);
  if (!same) LOG_FATAL("check quota of {}: {}", name, same.status().text());
  if (*same) {
    LOG_INFO("quota of {} is consistent", name);
  } else if (args.flag("repair")) {
    LOG_INFO("quota of {} was repaired: {}", name, message);
  } else {
    LOG_ERROR("quota of {} is inconsistent, please repair it with --repair flag: {}", name, message);
    return 1;
  }
  return 0;
}

int check(const Args& args, Volume& volume, const Selector& s) {
  auto& meta = *volume.meta;
  if (s.given) {
    auto key = keyOf(meta, s, false);
    int code = checkOne(args, volume, key, shownName(s));
    auto quota = meta.getQuota(key);
    if (code == 0 && quota && *quota) printRows(headerOf(s.kind), {rowOf(shownName(s), **quota)});
    return code;
  }
  auto all = meta.listQuotas();
  if (!all) LOG_FATAL("list quotas: {}", all.status().text());
  int code = 0;
  for (auto kind : {Kind::userQuota, Kind::groupQuota}) {
    Rows rows;
    for (auto& [key, quota] : *all) {
      if (key.kind != kind) continue;
      auto name = nameOf(meta, key, false);
      code |= checkOne(args, volume, key, (kind == Kind::userQuota ? "user " : "group ") + name);
      auto now = meta.getQuota(key);
      rows.push_back(rowOf(name, now && *now ? **now : quota));
    }
    printRows(headerOf(kind), std::move(rows));
  }
  return code;
}

int run(const Args& args) {
  auto what = args.subcommand();
  auto s = selectorOf(args);
  if (!s.given && (what == "set" || what == "get" || what == "delete"))
    LOG_FATAL("Please specify the directory with `--path <dir>` option or specify user/group with `--uid <uid>`/`--gid <gid>` option");
  OpenMetaOptions options;
  options.config.noBgJob = true;
  options.config.mountPoint = "quota";
  auto volume = openVolumeOrDie(args.at(0), options);
  if (what == "set") set(args, volume, s);
  else if (what == "get") get(volume, s);
  else if (what == "list") list(volume);
  else if (what == "check") return check(args, volume, s);
  else {
    auto done = volume.meta->deleteQuota(keyOf(*volume.meta, s, false));
    if (!done && !done.is(Code::notFound)) LOG_FATAL("delete quota of {}: {}", shownName(s), done.text());
  }
  return 0;
}

}  // namespace

Command quotaCommand() {
  using enum OptionType;
  return {"quota",
          "ADMIN",
          "Limit what directories, users and groups may use",
          "META-URL",
          "Examples:\n"
          "$ juicefs quota set sqlite3://my.db --path /dir --capacity 1 --inodes 100\n"
          "$ juicefs quota set sqlite3://my.db --uid 1000 --capacity 2\n"
          "$ juicefs quota list sqlite3://my.db\n"
          "$ juicefs quota check sqlite3://my.db --path /dir --repair",
          {{"",
            {
                {"path", text, "", "directory, from the root of the volume"},
                {"create", flag, "", "make the directory if it is missing"},
                {"capacity", text, "", "space that it may use, in GiB (0: no limit)"},
                {"inodes", uinteger, "", "inodes that it may have (0: no limit)"},
                {"repair", flag, "", "correct the recorded usage"},
                {"strict", flag, "", "count the usage file by file (slow on large trees)"},
                {"uid", uinteger, "", "the quota of this user"},
                {"gid", uinteger, "", "the quota of this group"},
            }}},
          1,
          1,
          run,
          {{"set", "Set limits"},
           {"get", "Show limits and usage"},
           {"delete,del", "Remove limits"},
           {"list,ls", "Show all quotas"},
           {"check", "Compare the recorded usage with the files"}}};
}

}  // namespace aquifer::cli
