// The control group that bounds this process's memory, version 1 or 2, found at run time. Everything is read anew at each call.
//
// Thread-safe. Sources: the kernel's documentation of cgroup v1 (memory) and v2, proc(5).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aquifer {

class ControlGroup {
 public:
  // nullopt: no memory controller is to be seen from here.
  static std::optional<ControlGroup> ofThisProcess();
  // Of a process whose /proc/PID/cgroup and /proc/PID/mountinfo read like this.
  static std::optional<ControlGroup> from(const std::string& cgroupText, const std::string& mountinfoText);

  const std::string& folder() const { return folder_; }
  int version() const { return version_; }
  uint64_t usage() const;                  // bytes charged to the group and those below it; 0: unknown
  std::optional<uint64_t> limit() const;   // bytes, the smallest of it and those above it; nullopt: none
  // Nobody is in the group but `head` and its descendants, so that what is charged is theirs. False for a root without a limit.
  bool holdsOnly(pid_t head) const;
  // Asks the kernel to take back about `bytes` of what it can (v1: all that it can). False if it does not let us.
  bool reclaim(uint64_t bytes) const;

 private:
  ControlGroup(std::string mount, std::string folder, int version) : mount_(std::move(mount)), folder_(std::move(folder)), version_(version) {}
  std::string mount_, folder_;   // folder_ lies in mount_
  int version_ = 2;
};

}  // namespace aquifer
