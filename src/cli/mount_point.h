// The directory to mount on, before anything is started.
#pragma once

#include <string>

namespace aquifer::cli {

// Makes it if it is missing (0777), unmounts what a dead client left there, and checks that it can be used. Ends the program with
// a FATAL otherwise. Waits at most 3 s for a mount that does not answer.
void prepareMountPoint(const std::string& path);

}  // namespace aquifer::cli
