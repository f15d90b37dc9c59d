// Mount options as text and bits. Pure functions, thread-safe.
#pragma once

#include <string>

#include "access/fuse/server.h"

namespace aquifer::fuse {

struct KernelMount {
  std::string type;         // fuse.juicefs
  unsigned long flags = 0;  // MS_*
  std::string data;         // fd=…,rootmode=40000,…
};
// Refuses words that neither we, the kernel nor fusermount3 know, naming the first: Code::config.
Status checkMountOptions(const MountOptions& options);
KernelMount kernelMount(const MountOptions& options, int fd);
std::string fusermountOptions(const MountOptions& options);

}  // namespace aquifer::fuse
