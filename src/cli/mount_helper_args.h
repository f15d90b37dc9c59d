// mount(8) calls its helpers as `mount.juicefs SOURCE TARGET [-o OPTIONS]`: translated here to a `mount` command line.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace aquifer::cli {

// `words` without argv[0]. Fewer than two: an empty list (the global help). Sets CALL_VIA_MOUNT for the processes started later.
// Code::config: an option that needs a value has none.
Result<std::vector<std::string>> mountHelperArgs(const std::vector<std::string>& words);

}  // namespace aquifer::cli
