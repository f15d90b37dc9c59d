// The open handles of a mount as a file, for the process that takes it over: the form that JuiceFS writes and reads
// (docs/formats/handover.md).
#pragma once

#include <string>

#include "access/fuse/crash_state.h"
#include "vfs/vfs.h"

namespace aquifer::cli {

Status saveStateFile(const std::string& path, fuse::CrashState& state, vfs::Handle next);
// Notes in `state` what the file names, where a server that adopts the session finds it, and renames the file to <path>.bak.
// A missing or damaged file is logged: handles are then opened again as they are used.
void loadStateFile(const std::string& path, fuse::CrashState& state);

}  // namespace aquifer::cli
