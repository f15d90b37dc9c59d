#include "cli/mount_plan.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "access/fuse/mount_options.h"
#include "base/log.h"
#include "cli/main.h"
#include "cli/memory_plan.h"
#include "cli/mount_path.h"
#include "cli/option_groups.h"
#include "cli/values.h"

namespace aquifer::cli {
namespace {

constexpr uint32_t kNobody = 65534;
// Not for ever: should a change ever be missed, this bounds for how long.
constexpr vfs::Seconds kCoherentSeconds{60};

vfs::Seconds seconds(const Args& a, const char* name) {
  return std::chrono::duration_cast<vfs::Seconds>(std::chrono::nanoseconds(a.durationNanos(name)));
}

bool parseId(const std::string& text, uint32_t* id) {
  auto [p, e] = std::from_chars(text.data(), text.data() + text.size(), *id);
  return e == std::errc() && p == text.data() + text.size();
}

// Started under our own name, requests are as large as the kernel allows; under JuiceFS's name as large as its own are, so that
// mounts can be handed over between the two.
uint32_t requestSize(const Args& a) {
  const auto& argv = programArgs();
  const bool own = !argv.empty() && baseName("/" + argv[0]).starts_with("aquifer");
  if (own && !a.isSet("max-fuse-io")) return 1 << 20;
  const uint64_t size = a.size("max-fuse-io", 'B');
  return static_cast<uint32_t>(std::clamp<uint64_t>(size, 4096, 1 << 20));
}

// The words of -o: those that concern the client itself are taken out, the rest is for the kernel.
void readFuseWords(const std::string& list, MountPlan& plan) {
  std::stringstream words(list);
  for (std::string w; std::getline(words, w, ',');) {
    if (w.empty() || w == "nonempty" || w == "rw") continue;
    if (w == "allow_other")
      plan.mount.allowOther = true;
    else if (w == "allow_root")
      plan.mount.allowOther = true;  // other users are refused by nobody here, as JuiceFS does it
    else if (w == "ro")
      plan.readOnly = true;
    else if (w == "debug")
      plan.server.debug = true;
    else if (w == "writeback_cache")
      plan.server.writebackCache = true;
    else if (w == "async_dio")
      plan.server.asyncDio = true;
    else if (w == "default_permissions" || w.starts_with("fsname=") || w.starts_with("subtype=") || w.starts_with("max_read="))
      continue;
    else
      plan.mount.extra.push_back(w);
  }
}

void readSquash(const Args& a, MountPlan& plan) {
  auto& s = plan.server;
  const auto read = [](const std::string& text, const char* name, uint32_t* uid, uint32_t* gid) {
    if (auto status = parseSquash(text, uid, gid); !status) LOG_FATAL("--{}: {}", name, status.text());
  };
  if (a.isSet("all-squash")) {
    s.allSquash = true;
    read(a.text("all-squash"), "all-squash", &s.squashUid, &s.squashGid);
  } else if (a.isSet("root-squash")) {
    s.rootSquash = true;
    read(a.text("root-squash"), "root-squash", &s.rootSquashUid, &s.rootSquashGid);
  }
}

// A time-out that was asked for counts if it is the shorter one.
void readCoherence(const Args& a, vfs::VfsConfig* v) {
  const auto choice = a.text("coherent-cache");
  if (choice == "off") return;
  if (choice != "on") LOG_FATAL("--coherent-cache: \"{}\" is neither on nor off", choice);
  auto most = [&](const char* name, vfs::Seconds asked) { return a.isSet(name) ? std::min(asked, kCoherentSeconds) : kCoherentSeconds; };
  v->coherentAttr = most("attr-cache", v->attrTimeout);
  v->coherentEntry = most("entry-cache", v->entryTimeout);
  v->coherentDirEntry = most("dir-entry-cache", v->dirEntryTimeout);
  v->coherentNegative = most("negative-entry-cache", v->negativeTimeout);
}

}  // namespace

Status parseSquash(const std::string& text, uint32_t* uid, uint32_t* gid) {
  *uid = *gid = kNobody;
  const size_t colon = text.find(':');
  const std::string u = text.substr(0, colon), g = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (!u.empty() && !parseId(u, uid)) {
    const passwd* p = getpwnam(u.c_str());
    if (!p) return Status(Code::config, "unknown user " + u);
    *uid = p->pw_uid;
  }
  if (!g.empty() && !parseId(g, gid)) {
    const group* p = getgrnam(g.c_str());
    if (!p) return Status(Code::config, "unknown group " + g);
    *gid = p->gr_gid;
  }
  if (*uid == 0 || *gid == 0) LOG_WARN("squashing to user or group 0 would defeat its purpose: using {}", kNobody);
  if (*uid == 0) *uid = kNobody;
  if (*gid == 0) *gid = kNobody;
  return {};
}

MountPlan mountPlanOrDie(const Args& a) {
  MountPlan p;
  p.url = a.at(0);
  p.givenDescriptor = a.at(1).starts_with("/dev/fd/");
  p.mountPoint = absolutePath(a.at(1));
  if (p.mountPoint == "/") LOG_FATAL("should not mount on the root directory");
  p.background = a.flag("background");
  if (const char* fg = getenv("JFS_FOREGROUND"); fg && *fg) p.background = false;
  p.updateFstab = a.flag("update-fstab");
  p.noThp = a.flag("disable-transparent-hugepage");
  p.syslog = !a.flag("no-syslog");
  p.logFile = absolutePath(a.text("log"));
  p.readOnly = a.flag("read-only");
  p.subdir = a.text("subdir");
  p.checkStorage = a.flag("check-storage");
  p.backupSkipTrash = a.flag("backup-skip-trash");
  p.backupMetaNanos = a.durationNanos("backup-meta");
  auto memory = parseMemoryMax(a.text("memory-max"));
  if (!memory) LOG_FATAL("{}", memory.status().text());
  p.memoryMax = *memory;
  const char* skip = getenv("SKIP_BACKUP_META_CHECK");
  if (p.backupMetaNanos > 0 && p.backupMetaNanos < 300'000'000'000 && !(skip && std::string_view(skip) == "true")) {
    LOG_FATAL("backup-meta should not be less than 5 minutes: {}", durationText(p.backupMetaNanos));
  }

  p.mount.mountPoint = p.mountPoint;
  p.mount.allowOther = geteuid() == 0;
  p.mount.maxRead = p.server.maxWrite = requestSize(a);
  readFuseWords(a.text("o"), p);
  p.mount.readOnly = p.readOnly;
  p.mount.fsName = "JuiceFS:?";
  if (auto s = fuse::checkMountOptions(p.mount); !s) LOG_FATAL("{}", s.text());
  readSquash(a, p);
  p.mount.defaultPermissions = !a.flag("non-default-permission") && !p.server.allSquash;
  p.server.checkPermission = !p.mount.defaultPermissions || p.server.rootSquash;

  auto& v = p.vfs;
  v.attrTimeout = seconds(a, "attr-cache"), v.entryTimeout = seconds(a, "entry-cache"),
  v.dirEntryTimeout = seconds(a, "dir-entry-cache");
  v.negativeTimeout = seconds(a, "negative-entry-cache"), v.openCache = seconds(a, "open-cache");
  readCoherence(a, &v);
  v.readdirCache = a.flag("readdir-cache");
  v.readOnly = p.readOnly;
  v.hideInternal = a.isSet("hide-internal") ? a.flag("hide-internal") : true;
  v.prefixInternal = a.flag("prefix-internal");
  v.enableXattr = a.flag("enable-xattr"), v.enableCap = a.flag("enable-cap");
  v.enableSelinux = a.flag("enable-selinux"), v.enableIoctl = a.flag("enable-ioctl");
  v.subdirMount = !a.text("subdir").empty();
  v.mountPoint = p.mountPoint;
  if (const auto text = a.text("umask"); !text.empty()) {
    auto umask = parseOctal(text);
    if (!umask || *umask > 0777) LOG_FATAL("invalid umask: {}", text);
    v.umask = static_cast<int>(*umask);
    p.server.dontMask = true;  // else the kernel would have applied the caller's already
  }
  return p;
}

void setVolume(MountPlan& p, const meta::Format& format) {
  p.mount.fsName = "JuiceFS:" + format.name;
  if (!format.enableAcl) return;
  p.vfs.enableAcl = p.vfs.enableXattr = true;
  p.server.posixAcl = p.server.dontMask = true;
}

std::vector<std::string> absoluteArguments(const std::vector<std::string>& argv, const Args& args) {
  auto absoluteUrl = [](const std::string& url) {
    for (const std::string scheme : {"sqlite3://", "badger://"}) {
      if (!url.starts_with(scheme)) continue;
      const std::string path = url.substr(scheme.size());
      if (!path.empty() && path[0] != '/' && !path.starts_with("file:")) return scheme + absolutePath(path);
    }
    return url;
  };
  auto absoluteDirs = [](const std::string& list) {
    std::stringstream dirs(list);
    std::string out;
    for (std::string d; std::getline(dirs, d, ':');)
      out += (out.empty() ? "" : ":") + (d == "memory" || d.empty() ? d : absolutePath(d));
    return out;
  };
  auto optionValue = [&](const std::string& name, const std::string& value) {
    if (name == "cache-dir") return absoluteDirs(value);
    if (name == "log") return absolutePath(value);
    return value;
  };
  std::vector<std::string> out = argv;
  for (size_t i = 1; i < out.size(); ++i) {
    auto& w = out[i];
    if (w.starts_with('-')) {
      const size_t start = w.find_first_not_of('-'), eq = w.find('=');
      if (start == std::string::npos) continue;
      const std::string name = w.substr(start, eq == std::string::npos ? eq : eq - start);
      if (eq != std::string::npos)
        w = w.substr(0, eq + 1) + optionValue(name, w.substr(eq + 1));
      else if ((name == "cache-dir" || name == "log") && i + 1 < out.size())
        out[i + 1] = optionValue(name, out[i + 1]), ++i;
    } else if (w == args.at(0)) {
      w = absoluteUrl(w);
    } else if (w == args.at(1)) {
      w = absolutePath(w);
    }
  }
  return out;
}

}  // namespace aquifer::cli
