// What an API server shows and who vouches for it: the part that both sides of a fleet have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/registration/expiry/hop.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::registration::expiry {

/// What a server shows to this machine now.
struct Shown {
  std::string server;
  std::string chain;    // PEM; empty: it could not be asked
  std::string why_not;  // then
};
/// No credential is sent, and nothing of the server is verified: what is shown is compared afterwards. `authorities` (PEM) vouch
/// for a proxy that is reached by TLS; empty: the system's roots.
Shown look_at(const std::string& server, const std::string& proxy_url, const std::string& authorities);

/// "server certificate" and "server CA" of an API server, as `authorities` (of a kubeconfig) vouch for it; empty `authorities`:
/// the system's roots, which end with the system's updates.
std::vector<Hop> server_hops(const std::string& place, const Shown& shown, std::string_view authorities);

/// The authorities that somebody stored (`what`), against what the server shows now. `fix`: where they do not vouch for it.
Hop stored_authority(std::string place, std::string what, std::string_view stored, const Shown& shown, std::string fix);

}  // namespace fleetadm::registration::expiry
