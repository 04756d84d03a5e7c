// What join installs on a cluster.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/install/image_pull.h"
#include "core/install/pod_settings.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct AgentInstall {
  std::string cluster_name;
  std::string image = "fleetadm:" FLEETADM_VERSION;
  std::vector<std::string> args = {};  // further ones of `agent run`
  bool network_policy = false;
  install::ImagePull image_pull = {};
  std::optional<Json> image_pull_secret = {};  // to be made in the agent's namespace
  install::PodSettings pods = {};
};

/// The objects of the agent in the order in which they are applied. `hubs`: its bootstrap kubeconfigs, in order (hub_secrets.h).
Result<std::vector<Json>> agent_manifests(const AgentInstall& agent, const std::vector<std::string>& hubs);

/// agent_manifests() for an agent that has joined before: without the bootstrap Secret.
Result<std::vector<Json>> agent_objects(const AgentInstall& agent);

/// What `fleetadm agent run` of a cluster is started with, before AgentInstall::args.
Json agent_args(const std::string& cluster_name);

/// What the agent is told by one of its arguments ("--flag="), or what it does without it.
std::string given_or(const std::vector<std::string>& args, std::string_view flag, std::string_view otherwise);

/// Whether the agent reports figures, for which it needs rights of its own (templates/agent/figures.yaml).
bool reports_figures(const std::vector<std::string>& args);

/// A cluster is in one fleet under one name. Joining again with the same ones repairs; kConflict: anything else must unjoin
/// first.
Status check_not_elsewhere(const kube::Client& spoke, const std::string& cluster, const std::string& server);

}  // namespace fleetadm::join
