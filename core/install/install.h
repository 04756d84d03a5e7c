// Installing and removing the parts of fleetadm on a cluster. Every object that is ours carries the label
// fleetadm.io/part=<part>: it is the inventory. An object of the same name without the label is someone else's: it is kept as
// it is and never removed. Safe to kill after any write: a second run finds what is missing (or left) by the label.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::install {

inline constexpr std::string_view kPartLabel = "fleetadm.io/part";
inline constexpr std::string_view kHubPart = "hub";
inline constexpr std::string_view kAgentPart = "agent";

/// Where the installed programs serve health: the port that the probes of templates/{hub,agent}/deployment.yaml ask. The pod's
/// own address, so that two pods which share a network do not meet.
inline constexpr std::string_view kHealthArgument = "--health-address=$(POD_IP):8000";
/// Likewise the conversion of add-on versions (templates/hub/webhook.yaml).
inline constexpr std::string_view kWebhookArgument = "--webhook-address=$(POD_IP):9443";
/// And the gateway (templates/hub/gateway.yaml).
inline constexpr std::string_view kGatewayArgument = "--address=$(POD_IP):8443";
inline constexpr std::string_view kTunnelArgument = "--tunnel-address=$(POD_IP):8444";
inline constexpr std::string_view kPeerArgument = "--peer-address=$(POD_IP):8445";
inline constexpr std::string_view kKonnectivityArgument = "--konnectivity-address=$(POD_IP):8090";
inline constexpr std::string_view kKonnectivityAgentArgument = "--konnectivity-agent-address=$(POD_IP):8091";

enum class Action { kCreated, kConfigured, kUnchanged, kKeptForeign, kDeleted };
std::string_view to_string(Action action);

struct Change {
  std::string kind;
  std::string ns;
  std::string name;
  Action action = Action::kUnchanged;
  std::string group = {};  // of the kind; empty for the core's
  /// Of a dry run: why the server was not asked ("namespace "x" does not exist yet"); empty: it was, or need not be.
  std::string unchecked = {};
};

struct Options {
  std::string part;
  /// Of remove_part(): only what is in this namespace, and the namespace itself; empty: everything on the cluster.
  std::string ns = {};
  /// Of remove_part(): what is in a namespace of the part is left to go with that, but for Deployments, which end first.
  bool with_namespaces = false;
  Duration timeout = std::chrono::minutes(5);  // of all waiting together
  std::stop_token stop;
  /// The cluster was made for them, and has none of the objects yet: none is looked up before it is applied.
  bool fresh = false;
  std::function<void(const Change&)> told;  // after each object
  /// Asked before an object is removed; true keeps it (and tells kKeptForeign).
  std::function<Result<bool>(const kube::Resource&, const Json&)> keep;
};

/// The kinds that fleetadm installs, in the order of their removal.
std::vector<kube::Resource> installed_kinds();
/// The resource type of a kind that fleetadm installs; kInternal for any other.
Result<kube::Resource> resource_of(const Json& object);

/// Applies the objects in their order (server-side apply, forced), labelled as `part`. After the last CustomResourceDefinition
/// of a run of them it waits until all are established. In a server-side dry run an object that depends on one that the same run
/// would create counts as created, unchecked.
Result<std::vector<Change>> apply_all(const kube::Client& client, std::vector<Json> objects, const Options& options);

/// Deletes everything that carries the part's label: workloads first, namespaces and CRDs last, with uid preconditions, and
/// waits until each is gone. A kind that cannot be listed is an error, and nothing after it is deleted.
Result<std::vector<Change>> remove_part(const kube::Client& client, const Options& options);

/// {"kind", "namespace", "name", "action"} for reports.
Json to_json(const std::vector<Change>& changes);

}  // namespace fleetadm::install
