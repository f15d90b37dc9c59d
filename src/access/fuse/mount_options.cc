#include "access/fuse/mount_options.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace aquifer::fuse {
namespace {

struct FlagWord {
  std::string_view word;
  unsigned long bit;
  bool set;
};
// `ro` is not among them: a read-only client says EROFS itself, and the mount table shows rw as that of JuiceFS does.
constexpr FlagWord kFlagWords[] = {
    {"rw", MS_RDONLY, false},
    {"suid", MS_NOSUID, false},
    {"nosuid", MS_NOSUID, true},
    {"dev", MS_NODEV, false},
    {"nodev", MS_NODEV, true},
    {"exec", MS_NOEXEC, false},
    {"noexec", MS_NOEXEC, true},
    {"async", MS_SYNCHRONOUS, false},
    {"sync", MS_SYNCHRONOUS, true},
    {"atime", MS_NOATIME, false},
    {"noatime", MS_NOATIME, true},
    {"dirsync", MS_DIRSYNC, true},
    {"nodiratime", MS_NODIRATIME, true},
    {"diratime", MS_NODIRATIME, false},
    {"relatime", MS_RELATIME, true},
    {"strictatime", MS_STRICTATIME, true},
};
constexpr std::string_view kOurs[] = {"ro",    "allow_other",     "allow_root", "nonempty",
                                      "debug", "writeback_cache", "async_dio",  "default_permissions"};
constexpr std::string_view kKernelKeys[] = {"max_read=", "blksize=", "context=", "fscontext=", "defcontext=", "rootcontext="};
constexpr std::string_view kOurKeys[] = {"fsname=", "subtype="};

std::optional<FlagWord> flagWord(std::string_view word) {
  for (const auto& f : kFlagWords)
    if (f.word == word) return f;
  return {};
}
bool anyOf(const auto& list, std::string_view word) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](std::string_view k) { return k.ends_with('=') ? word.starts_with(k) : word == k; });
}
// What of `extra` the kernel has to be told beside flags.
std::string passedWords(const MountOptions& o) {
  std::string out;
  for (const auto& w : o.extra)
    if (anyOf(kKernelKeys, w) && !w.starts_with("max_read=")) out += "," + w;
  return out;
}

}  // namespace

Status checkMountOptions(const MountOptions& o) {
  if (o.fsName.empty() || o.mountPoint.empty()) return Status(Code::config, "mount point and volume name must not be empty");
  for (const auto& w : o.extra) {
    if (w.empty() || flagWord(w) || anyOf(kOurs, w) || anyOf(kKernelKeys, w) || anyOf(kOurKeys, w)) continue;
    return Status(Code::config, "unknown mount option: \"" + w + "\"");
  }
  return {};
}

KernelMount kernelMount(const MountOptions& o, int fd) {
  KernelMount k;
  k.type = "fuse." + o.subtype;
  k.flags = MS_NOSUID | MS_NODEV;
  for (const auto& w : o.extra)
    if (auto f = flagWord(w)) k.flags = f->set ? k.flags | f->bit : k.flags & ~f->bit;
  k.data = "fd=" + std::to_string(fd) + ",rootmode=40000,user_id=" + std::to_string(geteuid()) +
           ",group_id=" + std::to_string(getegid());
  if (o.defaultPermissions) k.data += ",default_permissions";
  if (o.allowOther) k.data += ",allow_other";
  k.data += ",max_read=" + std::to_string(o.maxRead) + passedWords(o);
  return k;
}

std::string fusermountOptions(const MountOptions& o) {
  std::string s = "nosuid,nodev,fsname=";
  for (char c : o.fsName) {
    if (c == ',' || c == '\\') s += '\\';
    s += c;
  }
  s += ",subtype=" + o.subtype + ",max_read=" + std::to_string(o.maxRead);
  if (o.defaultPermissions) s += ",default_permissions";
  if (o.allowOther) s += ",allow_other";
  for (const auto& w : o.extra)
    if (flagWord(w)) s += "," + w;
  return s + passedWords(o);
}

}  // namespace aquifer::fuse
