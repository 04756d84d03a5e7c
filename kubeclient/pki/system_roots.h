// The certificate authorities that this machine trusts.
#pragma once

#include <string>

namespace fleetadm::pki {

/// The file that holds them (PEM): that of the environment variable SSL_CERT_FILE, or the one of this distribution. Empty where
/// there is none. A binary that is linked statically cannot know it from the libraries it was built with.
std::string system_roots_file();

}  // namespace fleetadm::pki
