// Processes of the supervisor: the worker, and a child that looks whether the mount answers. Called from one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace aquifer::cli {

// The program to start again: the file that we were started from, even if it was replaced meanwhile (an upgrade), else the
// running one.
std::string ownProgram();

// Starts `program` with argv, extra environment ("NAME=value") and the given descriptors kept open over the exec.
Result<pid_t> startWorker(const std::string& program, const std::vector<std::string>& argv,
                          const std::vector<std::string>& environment, const std::vector<int>& inherited);

// A child that stats the mount's root and `configName`; its exit status is 0 if the root has inode 1 and the file is there. It
// may hang as long as the mount does.
Result<pid_t> startProbe(const std::string& mountPoint, const std::string& configName);

// What each thread of the process is doing, for the log; at most 200 lines.
std::vector<std::string> describeThreads(pid_t pid);
char processState(pid_t pid);  // R S D T Z …, 0: gone
bool isTraced(pid_t pid);      // a debugger holds it
bool inContainer();
bool kernelCanResend();  // Linux 6.9 and newer

void raiseDescriptorLimit();
void protectFromOom();  // outside containers only

}  // namespace aquifer::cli
