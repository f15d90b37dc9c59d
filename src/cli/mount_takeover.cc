#include "cli/mount_takeover.h"

#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/log.h"
#include "base/text_file.h"
#include "cli/mount_config_json.h"
#include "cli/supervisor_socket.h"
#include "cli/virtual_file.h"

namespace aquifer::cli {
namespace {

using Json = nlohmann::json;

std::string textOf(const Json& j, const char* key) {
  return j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : "";
}
uint64_t numberOf(const Json& j, const char* key) {
  return j.contains(key) && j[key].is_number_unsigned() ? j[key].get<uint64_t>() : 0;
}

Json readConfig(const std::string& mountPoint) {
  Json j = Json::parse(fileText(virtualFile(mountPoint, "config")), nullptr, false);
  return j.is_object() ? j : Json();
}

// What has to be equal for one process to go on where the other stopped.
bool sameOptions(const Json& live, const MountPlan& plan) {
  if (!live.contains("FuseOpts") || !live["FuseOpts"].is_object()) return false;
  const Json& o = live["FuseOpts"];
  auto flag = [&](const char* key) { return o.contains(key) && o[key].is_boolean() && o[key].get<bool>(); };
  if (flag("AllowOther") != plan.mount.allowOther || flag("EnableAcl") != plan.server.posixAcl) return false;
  if (flag("EnableWriteback") != plan.server.writebackCache || flag("DisableXAttrs") == plan.vfs.enableXattr) return false;
  if (numberOf(o, "MaxWrite") != plan.server.maxWrite || textOf(o, "FsName") != plan.mount.fsName) return false;
  // The kernel has cached names below the old root, and a session belongs to writers.
  if (!live.contains("Meta") || textOf(live["Meta"], "Subdir") != plan.subdir) return false;
  const Json& m = live["Meta"];
  if ((m.contains("ReadOnly") && m["ReadOnly"] == true) != plan.readOnly) return false;
  bool checkedByKernel = false;
  if (o.contains("Options") && o["Options"].is_array())
    for (const auto& w : o["Options"]) checkedByKernel |= w == "default_permissions";
  return checkedByKernel == plan.mount.defaultPermissions;
}

}  // namespace

void takeOver(const MountPlan& plan, const meta::Format& format, SupervisorConfig* config) {
  struct stat st {};
  if (stat(plan.mountPoint.c_str(), &st) != 0 || st.st_ino != 1) return;
  const Json live = readConfig(plan.mountPoint);
  const auto pid = static_cast<pid_t>(numberOf(live, "Pid"));
  const std::string comm = textOf(live, "CommPath");
  if (pid <= 0 || comm.empty() || !live.contains("Format") || textOf(live["Format"], "Name") != format.name) return;
  if (!sameOptions(live, plan)) {
    LOG_INFO("different options, mount on top of it: {}", plan.mountPoint);
    return;
  }
  // The worker may be between two lives; its supervisor has the descriptor back in a moment.
  FuseSession session;
  for (int i = 0; i < 100 && session.fd < 0; ++i) {
    if (i) sleepMs(100);
    auto got = fetchSession(comm);
    if (!got) {
      LOG_WARN("{}; mount on top of it", got.status().text());
      return;
    }
    session = *std::move(got);
  }
  if (session.fd < 0) {
    LOG_WARN("no FUSE session from {}; mount on top of it", comm);
    return;
  }
  LOG_INFO("taking \"{}\" over from process {}", plan.mountPoint, pid);
  // From here on the mount is not touched until the new worker serves it.
  bool gone = false;
  for (int i = 0; i < 600 && !gone; ++i) {
    gone = kill(pid, i % 10 == 0 ? SIGHUP : 0) != 0 && errno == ESRCH;
    if (!gone) sleepMs(100);
  }
  if (!gone) LOG_FATAL("process {} did not hand \"{}\" over within 60 seconds", pid, plan.mountPoint);
  config->sessionFd = session.fd;
  config->sessionInit = session.init;
  config->statePath = textOf(live, "StatePath");
  if (live.contains("Meta")) config->sid = numberOf(live["Meta"], "Sid");
}

}  // namespace aquifer::cli
