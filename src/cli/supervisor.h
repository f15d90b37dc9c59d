// The process in front of a mount: it holds the FUSE descriptors and the state memory, and starts a worker that serves them. A
// worker that dies or hangs is replaced over the same descriptors, so applications see a pause instead of an error. One thread,
// so that it may fork; it never touches the mount itself, since its own exit would then wait for an answer that nobody gives.
#pragma once

#include <string>
#include <vector>

namespace aquifer::cli {

struct SupervisorConfig {
  std::vector<std::string> argv;  // of the worker, with absolute paths
  std::string mountPoint, volumeName;
  std::string configName = ".config";  // stat'ed by the watchdog
  bool givenDescriptor = false;        // readiness cannot be seen from outside
  int readyFd = -1;                    // background: "ready" or the reason of failure is written here
  bool announce = false;               // foreground: say here that the mount is ready
  // Taken over from another supervisor (or a keeper): start with this session instead of mounting.
  int sessionFd = -1;
  std::string sessionInit, statePath;
  unsigned long long sid = 0;
};

// Until the mount is gone; the exit code.
int superviseMount(const SupervisorConfig& config);

// How long things may take; stated in docs/decisions/0004-worker-death.md.
inline constexpr double kStoppedSeconds = 10;  // no heartbeat
inline constexpr double kStartSeconds = 120;   // a successor has not come to serve
inline constexpr double kHungSeconds = 25;     // the mount does not answer a stat although the heartbeat goes on

}  // namespace aquifer::cli
