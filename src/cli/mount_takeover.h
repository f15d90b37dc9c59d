// Taking a live mount over from the process that serves it now, instead of mounting on top: an upgrade without interruption.
#pragma once

#include "cli/mount_plan.h"
#include "cli/supervisor.h"
#include "meta/model/format.h"

namespace aquifer::cli {

// If the mount point is a live mount of the same volume with the same options: fetches its session, makes the old worker save and
// leave (at most 60 s), and fills `config`. Otherwise leaves `config` alone; an ordinary mount on top follows.
void takeOver(const MountPlan& plan, const meta::Format& format, SupervisorConfig* config);

}  // namespace aquifer::cli
