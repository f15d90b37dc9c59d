// JFS_STRICT_EXIT=1: operands that could not be handled make the exit code 1 where it stays 0 by default, as scripts written
// for the original client expect.
#pragma once

namespace aquifer::cli {
bool strictExit();
// 0, or 1 if something failed and strictness is asked for.
int softExit(bool failed);
}  // namespace aquifer::cli
