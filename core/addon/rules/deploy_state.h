// What the steps of one deploy pass share: what they read, and what they have decided so far.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/agent_description.h"
#include "core/addon/rules/deploy_works.h"
#include "core/addon/rules/pass.h"
#include "core/rollout/types.h"

namespace fleetadm::addon {

struct DeployState {
  const ObjectReader& objects;
  const AgentDescription& agent;
  const Json& managed_cluster;
  Instant now;
  bool strict;
  Json addon;                          // as it is to be: finalizers, status
  std::optional<std::string> hosting;  // hosted mode: the cluster that the annotation names ("" is a name)
  std::vector<Json> works = {};        // to be written, in this order
  std::vector<ObjectRef> deleted = {};
  std::vector<Error> errors = {};
  bool ended = false;  // kUpstream: its process ends at this point, before the add-on is written

  rollout::Semantics conduct() const { return strict ? rollout::Semantics::kStrict : rollout::Semantics::kUpstream; }
  bool has_finalizer(std::string_view name) const;
  /// True where it was not there. kStrict: never of an add-on under deletion.
  bool add_finalizer(std::string_view name);
  void remove_finalizer(std::string_view name);

  bool condition_is(std::string_view type, std::string_view status) const;
  bool has_condition(std::string_view type) const;
  void set_condition(std::string_view type, std::string_view status, std::string_view reason, const std::string& message);
  void remove_condition(std::string_view type);

  /// Writes a work where it differs, and takes over whether its objects are applied. The work as it is now, with its status; null
  /// where there is none yet.
  ObjectPtr write_work(const Json& wanted, std::string_view applied_condition);
  void delete_work(const Json& work);

  /// Whether it is decided what to deploy.
  bool is_decided() const { return !agent.held && (!agent.config_check_enabled || condition_is("Configured", "True")); }
  /// The manifests are those to be deployed now. Else everything stays as it is: they are not decided yet, or cannot be rendered,
  /// which is an error and said in the condition.
  bool has_manifests(std::string_view applied_condition);
  /// The manifests of a side, pre-delete hooks or the others. nullopt: a location is unknown, which is an error and said.
  std::optional<std::vector<Json>> manifests_of(Side side, bool hooks, std::string_view applied_condition);
};

/// ManifestApplied or HostingManifestApplied.
std::string_view applied_condition_of(Side side);

// The steps, in their order.
void deploy_managed_side(DeployState& state);
void deploy_hosting_side(DeployState& state);
void run_managed_hook(DeployState& state);
void run_hosting_hook(DeployState& state);
void judge_health(DeployState& state);
/// Instead of them, where the add-on is under deletion and its cluster is gone.
void leave_without_cluster(DeployState& state);

}  // namespace fleetadm::addon
