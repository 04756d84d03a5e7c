// Which facts a cluster tells its hub about itself (docs/reference/registration.md#claims).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::registration::agent {

struct ClaimOptions {
  std::size_t max_custom = 20;
  std::vector<std::string> reserved_suffixes;  // claims with such a name are never left out
  // Told as reserved claims, whatever the cluster's own say. Empty: not told.
  std::string agent_version = {};
  std::string hosted_by = {};
};

struct Claim {
  std::string name;
  std::string value;
  bool operator==(const Claim&) const = default;
};

struct ChosenClaims {
  std::vector<Claim> claims;  // reserved ones first, then the others; each part sorted by name
  std::size_t left_out = 0;   // others beyond the limit
};

/// From ClusterClaim and ClusterProperty objects (both have spec.value): a property wins over a claim of the same name; objects
/// that are labelled as the spoke's own, and values the hub would refuse (empty, or over 1,024 characters), are not told.
ChosenClaims choose_claims(const std::vector<Json>& cluster_claims, const std::vector<Json>& properties,
                           const ClaimOptions& options);

/// As status.clusterClaims.
Json claims_json(const std::vector<Claim>& claims);

}  // namespace fleetadm::registration::agent
