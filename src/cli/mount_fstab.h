// Files of the system that a mount by root may edit. Failures are warnings.
#pragma once

#include <string>

#include "cli/mount_plan.h"

namespace aquifer::cli {

// Adds or replaces the entry of (source, mount point), and links /sbin/mount.juicefs to this program if nothing is there.
void updateFstab(const Args& args, const MountPlan& plan);
// Keeps updatedb from walking over mounts: fuse.juicefs in PRUNEFS of /etc/updatedb.conf.
void updatePruneFs();

// Pure parts.
std::string fstabWithEntry(const std::string& table, const std::string& source, const std::string& target,
                           const std::string& options);
std::string withPruneFs(const std::string& config);  // unchanged when there is nothing to do

}  // namespace aquifer::cli
