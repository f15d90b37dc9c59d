// The mount command: checks everything while it still has a terminal, then becomes (or starts) the supervisor, which starts the
// worker.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "access/fuse/server.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/main.h"
#include "cli/memory_plan.h"
#include "cli/mount_fstab.h"
#include "cli/mount_plan.h"
#include "cli/mount_point.h"
#include "cli/mount_takeover.h"
#include "cli/mount_worker.h"
#include "cli/option_groups.h"
#include "cli/supervisor.h"
#include "cli/volume.h"
#include "cli/volume_options.h"
#include "object/object_store.h"

namespace aquifer::cli {
namespace {

using enum OptionType;

int readySeconds() {
  const char* text = getenv("JFS_MOUNT_TIMEOUT");
  const int n = text ? std::atoi(text) : 0;
  return n > 0 ? n : 10;
}

// Opens the volume once, as the worker will, so that what is wrong is said here and not in a log. Returns the setting.
meta::Format checkVolume(const Args& args, const MountPlan& plan) {
  OpenMetaOptions options;
  options.config = metaConfig(args, plan.mountPoint);
  options.config.readOnly = plan.readOnly;
  options.config.noBgJob = true;
  auto volume = openVolumeOrDie(plan.url, options);
  auto store = openStorage(volume.format, &args);
  if (!store) LOG_FATAL("object storage: {}", store.status().text());
  auto blocks = blockConfig(volume.format, &args);
  if (auto memory = planMemory(plan.memoryMax, plan.server.maxWrite, volume.format.encrypted(), blocks); !memory)
    LOG_FATAL("{}", memory.status().text());
  if (plan.checkStorage) {
    if (auto s = checkStorage(**store); !s) LOG_FATAL("{}", s.text());
  }
  return volume.format;
}

// The started process reports over a pipe; meanwhile one dot every half second, as scripts that watch the output know it.
int waitUntilReady(int pipe, const MountPlan& plan, const std::string& volume) {
  const int limit = readySeconds();
  std::string report;
  bool closed = false;
  for (int step = 0; step < limit * 2 && !closed && report != "ready"; ++step) {
    pollfd p{pipe, POLLIN, 0};
    if (poll(&p, 1, 500) != 1) {
      std::fputc('.', stdout);
      std::fflush(stdout);
      continue;
    }
    char buf[512];
    const ssize_t n = read(pipe, buf, sizeof buf);
    if (n > 0)
      report.append(buf, static_cast<size_t>(n));
    else
      closed = true;
  }
  if (report == "ready") {
    LOG_INFO("\033[92mOK\033[0m, {} is ready at \"{}\"", volume, plan.mountPoint);
    return 0;
  }
  LOG_FATAL("The mount point is not ready in {} seconds ({}), please check the log (\"{}\") or re-mount in foreground", limit,
            report.empty() ? "no answer" : report, plan.logFile);
}

int startInBackground(SupervisorConfig config, const MountPlan& plan) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) LOG_FATAL("pipe: {}", std::strerror(errno));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) LOG_FATAL("fork: {}", std::strerror(errno));
  if (child > 0) {
    close(ready[1]);
    return waitUntilReady(ready[0], plan, config.volumeName);
  }
  close(ready[0]);
  setsid();
  if (chdir("/") != 0) LOG_FATAL("chdir /: {}", std::strerror(errno));
  if (plan.syslog) log::toSyslog(true);
  if (!log::toFile(plan.logFile)) LOG_WARN("cannot write the log file {}", plan.logFile);
  const int null = open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) dup2(null, fd);
  if (null > 2) close(null);
  config.readyFd = ready[1];
  return superviseMount(config);
}

// Whoever started us may have left us files that are open on the very mount that we are about to serve: a process that holds one
// cannot end while nobody answers its close. All but the three standard ones and a given FUSE descriptor go, now, while somebody
// does.
void closeStrangers(const MountPlan& plan) {
  unsigned given = 0;
  if (plan.givenDescriptor)
    given = static_cast<unsigned>(std::max(0, std::atoi(plan.mountPoint.c_str() + sizeof("/dev/fd/") - 1)));
  if (given > 3) close_range(3, given - 1, 0);
  close_range(std::max(3u, given + 1), ~0u, 0);
}

int runMount(const Args& args) {
  if (getenv("JFS_SUPERVISOR")) return runMountWorker(args);
  MountPlan plan = mountPlanOrDie(args);
  closeStrangers(plan);
  const char* keeper = getenv("JFS_SUPER_COMM");
  const bool kept = keeper && *keeper;
  if (!kept && !plan.givenDescriptor) prepareMountPoint(plan.mountPoint);
  const meta::Format format = checkVolume(args, plan);
  setVolume(plan, format);

  SupervisorConfig config;
  config.argv = absoluteArguments(programArgs(), args);
  config.mountPoint = plan.mountPoint;
  config.volumeName = format.name;
  config.configName = plan.vfs.prefixInternal ? ".jfs.config" : ".config";
  config.givenDescriptor = plan.givenDescriptor;
  config.announce = !plan.background;
  if (!kept && !plan.givenDescriptor) takeOver(plan, format, &config);
  if (geteuid() == 0) {
    if (plan.updateFstab && !getenv("CALL_VIA_MOUNT")) updateFstab(args, plan);
    updatePruneFs();
  }
  if (plan.background) return startInBackground(config, plan);
  if (chdir("/") != 0) LOG_FATAL("chdir /: {}", std::strerror(errno));  // or we would keep some other file system busy
  return superviseMount(config);
}

}  // namespace

Command mountCommand() {
  OptionGroup own{
      "",
      {
          {"background,d", flag, "", "run in the background"},
          {"foreground,f", flag, "", "accepted; the foreground is the default", true},
          {"no-syslog", flag, "", "do not log to syslog when in the background"},
          {"log", text, defaultLogFile("juicefs.log"), "log file of a mount in the background"},
          {"force", flag, "", "accepted; a live mount of the same volume is taken over"},
          {"hide-internal", flag, "", "leave .stats, .config and the like out of listings (the default; =false lists them)"},
          {"coherent-cache", text, "off", "on: the kernel keeps names and attributes until another client changes them, where the engine tells"},
          {"power-safe", flag, "", "every change survives power loss before it is acknowledged (slower: a disk sync each)"},
          {"memory-max", text, "", "heap, buffers and page cache of this mount together, in MiB (auto: 90% of the container's limit)"},
          {"update-fstab", flag, "", "add or update the entry in /etc/fstab, and link /sbin/mount.juicefs"},
          {"disable-transparent-hugepage", flag, "", "no huge pages for this process"},
      }};
  OptionGroup fuse{"FUSE",
                   {
                       {"enable-xattr", flag, "", "extended attributes"},
                       {"enable-cap", flag, "", "the attribute security.capability"},
                       {"enable-selinux", flag, "", "the attribute security.selinux"},
                       {"enable-ioctl", flag, "", "ioctl for file flags (immutable, append-only)"},
                       {"root-squash", text, "", "uid:gid that root becomes"},
                       {"all-squash", text, "", "uid:gid that everybody becomes"},
                       {"prefix-internal", flag, "", "internal files are named .jfs.control, .jfs.stats …"},
                       {"non-default-permission", flag, "", "the client checks permissions, not the kernel", true},
                       {"max-fuse-io", text, "128K", "largest request"},
                       {"umask", text, "", "umask that replaces that of applications (octal)"},
                       {"o", text, "", "further FUSE options"},
                   }};
  return {"mount",
          "SERVICE",
          "Mount a volume",
          "META-URL MOUNTPOINT",
          "",
          {own, metaOptions(), metaCacheOptions(false), dataStorageOptions(), dataCacheOptions(), fuse, metricsOptions()},
          2,
          2,
          runMount};
}

}  // namespace aquifer::cli
