// The names that an agent of upstream's cluster-proxy announces, and which of them are its cluster's. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fleetadm::konnectivity {

/// The host of a cluster's service proxy: what clients dial, and its server certificate is checked for.
std::string service_proxy_host(std::string_view cluster);

/// Of announced identifiers ("host=c1&host=c1.ns", URL-encoded) the first that is not the cluster's: it has its own name, that
/// name with a namespace behind it, and its service proxy's host. Anything but a host is another's, too: addresses and default
/// routes would draw connections of other clusters.
std::optional<std::string> foreign_identifier(std::string_view identifiers, std::string_view cluster);

}  // namespace fleetadm::konnectivity
