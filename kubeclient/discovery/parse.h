// The two shapes of discovery documents (docs/reference/kubernetes-api.md#discovery) as DiscoveredResource lists.
#pragma once

#include <string_view>

#include "kubeclient/discovery/mapper.h"

namespace fleetadm::kube {

/// An APIGroupDiscoveryList. Versions that the server calls stale go to `failed_groups` as "group/version".
void add_aggregated(const Json& list, Discovery& out);
/// An APIResourceList of one group version.
void add_legacy(const Json& list, std::string_view group_version, Discovery& out);

Json to_json(const Discovery& discovery);
Result<Discovery> discovery_from_json(const Json& document);

}  // namespace fleetadm::kube
