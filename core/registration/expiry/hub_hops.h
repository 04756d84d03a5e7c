// What ends on a hub, and what a hub knows of its clusters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/registration/expiry/hop.h"
#include "core/registration/expiry/server.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::expiry {

/// The hub's own hops: its API server, the CA that it takes client certificates of, the CAs of gateway and webhook, the bootstrap
/// tokens that it stores. What the caller may not read is unknown.
std::vector<Hop> hub_hops(const kube::Client& hub, const kube::RestConfig& config, const Shown& shown, Instant now);

/// Those that the hub's controllers can see: its API server's, and the CA of their own webhook.
std::vector<Hop> own_hops(const kube::Client& hub, const kube::RestConfig& config, const Shown& shown);

/// The CA bundle (PEM) that the hub takes client certificates of; empty: it does not publish one, or the caller may not read it.
std::string client_authorities(const kube::Client& hub);

/// What the hub knows of one cluster: "agent certificate", of the last rotation or the last request that was signed, and
/// "server CA" where the cluster told one. `requests`: the cluster's certificate requests.
std::vector<Hop> member_hops(const Json& cluster, const std::vector<Json>& requests);

/// "client certificate rotated starting from 2026-11-21 18:14:19 +0000 UTC to 2026-11-22 …", as agents report it.
struct Validity {
  Instant begins;
  Instant ends;
};
std::optional<Validity> rotation_of(const std::string& message);

}  // namespace fleetadm::registration::expiry
