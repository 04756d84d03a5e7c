// Names of resource types and objects.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::kube {

/// A resource type as the server's paths name it.
struct Resource {
  std::string group;    // "" for the core group
  std::string version;  // "v1"
  std::string plural;   // "deployments"
  std::string kind;     // "Deployment"
  bool namespaced = true;

  /// "apps/v1", or "v1" for the core group.
  std::string api_version() const;
  /// "deployments.apps", or "pods".
  std::string qualified() const;
  /// "/apis/apps/v1/namespaces/<ns>/deployments[/<name>[/<subresource>]]"; ns is ignored for cluster-scoped types, and
  /// an empty ns means all namespaces.
  std::string path(std::string_view ns, std::string_view name = {}, std::string_view subresource = {}) const;

  bool operator==(const Resource&) const = default;
};

/// Splits "apps/v1" into group and version ("v1" has the group "").
struct GroupVersion {
  std::string group;
  std::string version;
};
GroupVersion parse_api_version(std::string_view api_version);

/// "ns/name", or "name" for cluster-scoped objects: the key of caches and queues.
std::string object_key(std::string_view ns, std::string_view name);
std::string object_key(const Json& object);
struct ObjectName {
  std::string ns;
  std::string name;
};
ObjectName split_key(std::string_view key);

/// The types that fleetadm names in code (others come from discovery).
namespace resources {
#define FLEETADM_RESOURCE(fn) const Resource& fn()
FLEETADM_RESOURCE(namespaces);
FLEETADM_RESOURCE(nodes);
FLEETADM_RESOURCE(pods);
FLEETADM_RESOURCE(secrets);
FLEETADM_RESOURCE(config_maps);
FLEETADM_RESOURCE(services);
FLEETADM_RESOURCE(service_accounts);
FLEETADM_RESOURCE(core_events);
FLEETADM_RESOURCE(events);  // events.k8s.io/v1
FLEETADM_RESOURCE(deployments);
FLEETADM_RESOURCE(jobs);
FLEETADM_RESOURCE(leases);
FLEETADM_RESOURCE(roles);
FLEETADM_RESOURCE(role_bindings);
FLEETADM_RESOURCE(cluster_roles);
FLEETADM_RESOURCE(cluster_role_bindings);
FLEETADM_RESOURCE(certificate_signing_requests);
FLEETADM_RESOURCE(custom_resource_definitions);
FLEETADM_RESOURCE(subject_access_reviews);
FLEETADM_RESOURCE(self_subject_access_reviews);
FLEETADM_RESOURCE(self_subject_reviews);
FLEETADM_RESOURCE(validating_admission_policies);
FLEETADM_RESOURCE(validating_admission_policy_bindings);
#undef FLEETADM_RESOURCE
}  // namespace resources

}  // namespace fleetadm::kube
