#include "cli/app.h"

int main(int argc, char** argv) { return fleetadm::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}); }
