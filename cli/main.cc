#include "cli/app.h"

int main(int argc, char** argv) { return fleetadm::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}); }

// libcurl brings GnuTLS with it (by way of LDAP and RTMP, which are never spoken here), and GnuTLS sets itself up when it is
// loaded: 1 MiB in every process. This is its documented way to be left alone; the name is GnuTLS's.
extern "C" [[gnu::used, gnu::visibility("default")]] int _gnutls_global_init_skip() { return 1; }  // NOLINT
