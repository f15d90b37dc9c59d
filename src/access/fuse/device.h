// The character device: open, clone, whole messages in and out. Thread-safe: the kernel is.
#pragma once

#include <span>

#include "access/fuse/protocol.h"
#include "base/status.h"

namespace aquifer::fuse {

// Opens /dev/fuse, close-on-exec; makes the node (10:229) if it is missing and we may. Code::unavailable without FUSE.
Result<int> openDevice();
// Makes `fd`, fresh from openDevice, another descriptor of the connection behind `mounted`. Ok if it is one already.
Status cloneDevice(int fd, int mounted);

enum class ReadOutcome { message, again, unmounted, failed };
// One message into `buffer`. again: a signal, or the request was withdrawn meanwhile.
ReadOutcome readMessage(int fd, std::span<std::byte> buffer, size_t* size, int* error);
// A reply or notification as one piece. ENOENT (nobody waits any more) counts as ok.
Status writeMessage(int fd, std::span<const std::byte> message);
// A notification: header, struct and an optional tail.
Status notifyKernel(int fd, Notify code, std::span<const std::byte> body, std::span<const std::byte> tail = {});

}  // namespace aquifer::fuse
