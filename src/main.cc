#include "cli/main.h"

int main(int argc, char** argv) { return aquifer::cli::run(argc, argv); }
