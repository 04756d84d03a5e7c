// ClusterClaims: what a cluster says about itself, and its agent tells the hub (docs/reference/registration.md#claims).
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/rest/client.h"

namespace fleetadm::api {

/// Whether the hub takes it: the name has up to 253 characters, the value 1 to 1,024.
bool claim_fits(std::string_view name, std::string_view value);

/// The value that a ManagedCluster has of a claim; empty: none.
std::string told_claim(const Json& cluster, std::string_view name);

/// kUsage: the name cannot be a claim's, belongs to the agent, or the hub would refuse the value.
Status check_claim(std::string_view name, std::string_view value);

Json cluster_claim(std::string_view name, std::string_view value);

struct StoredClaim {
  Json object;
  enum class Outcome { kCreated, kChanged, kUnchanged } outcome = Outcome::kUnchanged;
};

/// Makes the claim, or gives it the value; labels and annotations stay.
Result<StoredClaim> set_claim(const kube::Client& cluster, const std::string& name, const std::string& value);

}  // namespace fleetadm::api
