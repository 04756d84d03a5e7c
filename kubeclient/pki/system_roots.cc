#include "kubeclient/pki/system_roots.h"

#include <array>
#include <cstdlib>
#include <unistd.h>

namespace fleetadm::pki {

std::string system_roots_file() {
  if (const char* named = std::getenv("SSL_CERT_FILE"); named != nullptr && *named != '\0') return named;
  // Debian, Ubuntu, Arch and Gentoo; Fedora and RHEL, old and new; SUSE; Alpine and BSDs.
  static constexpr std::array<const char*, 5> kPaths = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                                        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                                        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
  for (const char* path : kPaths) {
    if (::access(path, R_OK) == 0) return path;
  }
  return {};
}

}  // namespace fleetadm::pki
