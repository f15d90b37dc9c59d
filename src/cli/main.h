// The command line: argv to exit code. Not re-entrant.
#pragma once

namespace aquifer::cli {
int run(int argc, char** argv);
}
