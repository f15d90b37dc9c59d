// Which errors may leave through the kernel. Pure functions, thread-safe.
#pragma once

#include "access/fuse/protocol.h"

namespace aquifer::fuse {

// The errno that an application sees for `errnum` out of the operation. Those that no manual page promises become EIO; ENOSYS,
// after which the kernel never asks again, passes only where that is meant.
int documentedErrno(Op op, int errnum);

}  // namespace aquifer::fuse
