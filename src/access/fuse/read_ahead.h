// The kernel's read-ahead of a mount. It starts at 128 KiB, which the INIT reply can only lower; reading files from their start
// then waits for every eighth of what one request can carry.
#pragma once

#include <cstdint>
#include <string>

namespace aquifer::fuse {

// Needs root; does nothing where it is not allowed. Never lowers it. After INIT.
void setReadAhead(const std::string& mountPoint, uint32_t bytes);
// "0:52" of the topmost mount at `mountPoint` in a text of /proc/self/mountinfo; "" if there is none.
std::string mountDevice(const std::string& mountinfo, const std::string& mountPoint);

}  // namespace aquifer::fuse
