// `status`: the setting, the clients and the usage of a volume as JSON.
#include <fmt/core.h>

#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/json_out.h"
#include "cli/meta_read.h"
#include "cli/trash_walk.h"
#include "cli/values.h"
#include "cli/volume.h"

namespace aquifer::cli {

namespace {

JsonObject sessionJson(const meta::SessionDetail& s) {
  JsonObject o;
  o.add("Sid", s.sid);
  o.addText("Expire", rfc3339(s.record.expire * 1'000'000'000, false));
  o.addText("Version", s.info.version);
  o.addText("HostName", s.info.hostName);
  if (!s.info.ipAddrs.empty()) {
    JsonArray ips;
    for (auto& ip : s.info.ipAddrs) ips.addText(ip);
    o.add("IPAddrs", ips);
  }
  o.addText("MountPoint", s.info.mountPoint);
  o.addText("MountTime", s.info.mountTime);
  o.add("ProcessID", s.info.processId);
  return o;
}

JsonObject sessionDetailJson(const meta::SessionDetail& s) {
  auto o = sessionJson(s);
  if (!s.sustained.empty()) {
    JsonArray inodes;
    for (auto ino : s.sustained) inodes.add(ino);
    o.add("Sustained", inodes);
  }
  if (!s.flocks.empty()) {
    JsonArray locks;
    for (auto& [ino, f] : s.flocks) {
      JsonObject l;
      l.add("Inode", ino);
      l.add("Owner", f.owner);
      l.addText("Ltype", std::string(1, f.type));
      locks.add(l);
    }
    o.add("Flocks", locks);
  }
  if (!s.plocks.empty()) {
    JsonArray locks;
    for (auto& [ino, p] : s.plocks) {
      JsonArray records;
      for (auto& r : p.ranges) {
        JsonObject record;
        record.add("Type", r.type);
        record.add("Pid", r.pid);
        record.add("Start", r.start);
        record.add("End", r.end);
        records.add(record);
      }
      JsonObject l;
      l.add("Inode", ino);
      l.add("Owner", p.owner);
      l.add("Records", records);
      locks.add(l);
    }
    o.add("Plocks", locks);
  }
  return o;
}

struct Pile {
  uint64_t count = 0, bytes = 0;
  void addTo(JsonObject& o, const std::string& name) const {
    if (count) o.add(name + "Count", count);
    if (bytes) o.add(name + "Size", bytes);
  }
};

// What waits for its deletion: slow on large volumes, so only on request.
Status addGarbage(meta::Meta& meta, JsonObject& stat) {
  Pile trash, files, trashSlices, pendingSlices;
  TRY(forEachTrashEntry(meta, [&](const meta::DirEntry& e) {
    ++trash.count;
    if (e.attr && e.attr->isRegular()) trash.bytes += e.attr->length;
    return Status();
  }));
  TRY(meta.listDelFiles([&](meta::Ino, uint64_t length, int64_t) {
    ++files.count;
    files.bytes += length;
    return Status();
  }));
  TRY(meta.listTrashSlices([&](meta::SliceId, uint32_t size, int64_t) {
    ++trashSlices.count;
    trashSlices.bytes += size;
    return Status();
  }));
  TRY_ASSIGN(auto pending, meta.pendingSlices());
  for (auto& [id, size] : pending) {
    ++pendingSlices.count;
    pendingSlices.bytes += size;
  }
  trash.addTo(stat, "TrashFile");
  files.addTo(stat, "PendingDeletedFile");
  trashSlices.addTo(stat, "TrashSlice");
  pendingSlices.addTo(stat, "PendingDeletedSlice");
  return {};
}

Result<std::string> statusJson(meta::Meta& meta, bool more) {
  auto loaded = meta.load(true);
  if (!loaded) return Status(loaded.code(), loadFailure(loaded.status()));
  TRY_ASSIGN(auto format, storedFormat(meta));
  TRY_ASSIGN(auto sessions, meta.sessions());
  TRY_ASSIGN(auto fs, meta.statfs(meta::Context::root(), meta::kRootIno));
  JsonArray list;
  for (auto& s : sessions) list.add(sessionJson(s));
  JsonObject stat;
  stat.add("UsedSpace", fs.totalSpace - fs.availSpace);
  stat.add("AvailableSpace", fs.availSpace);
  stat.add("UsedInodes", fs.totalInodes - fs.availInodes);
  stat.add("AvailableInodes", fs.availInodes);
  if (more) TRY(addGarbage(meta, stat));
  JsonObject all;
  all.addRaw("Setting", meta::formatToJsonNoSecrets(format, 2));
  all.add("Sessions", list);
  all.add("Stat", stat);
  return all.text();
}

int run(const Args& args) {
  auto sid = args.uinteger("session");
  auto opened = openMeta(args.at(0));
  if (opened.is(Code::notFormatted)) LOG_FATAL("{}: {}", sid ? "get session" : "get status", loadFailure(opened.status()));
  if (!opened) LOG_FATAL("{}", opened.status().text());
  auto& meta = **opened;
  std::string text;
  if (sid) {
    if (auto loaded = meta.load(true); !loaded) LOG_FATAL("get session: {}", loadFailure(loaded.status()));
    auto session = meta.session(sid);
    if (session.is(Code::notFound)) LOG_FATAL("get session: session not found: {}", sid);
    if (!session) LOG_FATAL("get session: {}", session.status().text());
    text = sessionDetailJson(*session).text();
  } else {
    auto json = statusJson(meta, args.flag("more"));
    if (!json) LOG_FATAL("get status: {}", json.status().text());
    text = *json;
  }
  std::puts(text.c_str());
  return 0;
}

}  // namespace

Command statusCommand() {
  return {"status",
          "INSPECTOR",
          "Show the setting, the clients and the usage of a volume",
          "META-URL",
          "Prints JSON. Read-only clients are not listed: they leave no trace in the metadata.\n\n"
          "Examples:\n$ juicefs status sqlite3://my.db",
          {{"",
            {
                {"session,s", OptionType::uinteger, "", "show one client with its locks and its open, already removed files"},
                {"more,m", OptionType::flag, "", "count the trash and what waits for deletion (slow on large volumes)"},
            }}},
          1,
          1,
          run};
}

}  // namespace aquifer::cli
