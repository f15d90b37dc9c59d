// What a mount command line comes to: checked once in the process that was started by hand, and read again by the worker.
// Plain values.
#pragma once

#include <string>
#include <vector>

#include "access/fuse/server.h"
#include "cli/options.h"
#include "meta/model/format.h"
#include "vfs/vfs.h"

namespace aquifer::cli {

struct MountPlan {
  std::string url, mountPoint;  // as given; the mount point absolute
  bool background = false, updateFstab = false, noThp = false, syslog = true;
  std::string logFile;       // background only
  fuse::MountOptions mount;  // fsName is filled in by setVolume
  fuse::ServerConfig server;
  vfs::VfsConfig vfs;
  std::string subdir;
  bool readOnly = false, checkStorage = false, backupSkipTrash = false;
  int64_t backupMetaNanos = 0;
  uint64_t memoryMax = 0;      // bytes; 0: no bound
  bool givenDescriptor = false;  // /dev/fd/N
};

// Ends the program with a FATAL that names what is wrong.
MountPlan mountPlanOrDie(const Args& args);
// What depends on the volume's setting: name, ACL.
void setVolume(MountPlan& plan, const meta::Format& format);

// "uid:gid" of --root-squash and --all-squash. Missing parts are nobody (65534); 0 is refused and becomes nobody, with a warning.
Status parseSquash(const std::string& text, uint32_t* uid, uint32_t* gid);

// The arguments for the processes behind: relative paths made absolute, since those run in "/".
std::vector<std::string> absoluteArguments(const std::vector<std::string>& argv, const Args& args);

}  // namespace aquifer::cli
