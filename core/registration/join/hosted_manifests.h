// What join installs for a hosted member, on both of its clusters (docs/reference/registration.md#hosted-members).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/install/image_pull.h"
#include "core/install/pod_settings.h"
#include "kubeclient/base/json.h"

namespace fleetadm::join {

/// The part (install.h) of everything in the namespace on the hosting cluster.
inline constexpr std::string_view kHostingPart = "hosted-agents";

/// Under which name a cluster is hosted, and where.
struct Hosting {
  std::string cluster;
  std::string hub_server;
  std::string by;  // "ID/NAMESPACE" of the hosting cluster: hosting_by()
  bool operator==(const Hosting&) const = default;
};

/// The objects on the member: namespaces, CRDs, accounts and roles, without a program. `figures`: its agent reports them.
Result<std::vector<Json>> member_objects(const Hosting& hosting, bool figures);

/// The one program for all members that are hosted in a namespace.
struct HostedAgents {
  std::string ns;
  std::string image;
  bool network_policy = false;
  install::ImagePull image_pull = {};
  std::optional<Json> image_pull_secret = {};  // to be made in the namespace
  install::PodSettings pods = {};
};
/// Its namespace, account and role, and what goes with the Deployment, which comes last.
Result<std::vector<Json>> hosting_objects(const HostedAgents& agents);

/// The Secrets of one member on the hosting cluster.
struct MemberSecrets {
  std::string ns;
  std::string cluster;
  std::string kubeconfig;               // of the member
  std::vector<std::string> bootstraps;  // kubeconfigs of the hubs, in order
  std::vector<std::string> args;        // of `agent run`, for this member alone
  std::string by = {};                  // Hosting::by
};
/// The member's own comes last: with it its agent begins.
std::vector<Json> member_secrets(const MemberSecrets& secrets);

}  // namespace fleetadm::join
