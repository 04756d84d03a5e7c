#include "cli/app.h"

#ifdef FLEETADM_STATIC
#include <cstdlib>
#include <nss.h>
#endif

namespace {

/// The modules that /etc/nsswitch.conf of a machine names (mdns4, resolve, sss) belong to its C library, and would bring that one
/// into a process which has its own. What is built in, /etc/hosts and DNS, is where programs in Go look, too.
void look_up_names_without_modules() {
#ifdef FLEETADM_STATIC
  __nss_configure_lookup("hosts", "files dns");
  for (const char* database : {"passwd", "group", "services", "protocols"}) __nss_configure_lookup(database, "files");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  look_up_names_without_modules();
  return fleetadm::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, argc > 0 ? argv[0] : "");
}

#ifdef FLEETADM_STATIC
// What the C++ library ends a program with that has not caught an exception. Its own prints the exception's type, for which it
// brings a demangler of 40 KB; the report of a crash (cli/crash.h) is all that a user needs. The name is the library's.
namespace __gnu_cxx {                                 // NOLINT
void __verbose_terminate_handler() { std::abort(); }  // NOLINT
}  // namespace __gnu_cxx
#else
// libcurl brings GnuTLS with it (by way of LDAP and RTMP, which are never spoken here), and GnuTLS sets itself up when it is
// loaded: 1 MiB in every process. This is its documented way to be left alone; the name is GnuTLS's.
extern "C" [[gnu::used, gnu::visibility("default")]] int _gnutls_global_init_skip() { return 1; }  // NOLINT
#endif
