// Steps that joining in any mode takes: telling what was checked, waiting for the cluster, claims, and the report.
#pragma once

#include <string>
#include <vector>

#include "commands/fleet/join_options.h"
#include "commands/framework/context.h"
#include "core/install/install.h"
#include "core/registration/join/preflight.h"

namespace fleetadm::commands {

/// `fleetadm join`, in any mode, and what ends in it.
Result<Report> join_cluster(Context& context, const JoinOptions& options);

Json checks_json(const std::vector<join::Check>& checks);
Table checks_table(const std::vector<join::Check>& checks);
void tell_checks(Progress& progress, const std::vector<join::Check>& checks);

/// Where the agent runs.
struct AgentPlace {
  kube::Client cluster;
  std::string ns;
  std::string deployment;
};
/// Until the agent runs and the hub shows the cluster as --wait says.
Status wait_for_cluster(Context& context, const AgentPlace& place, const kube::RestConfig& hub, const JoinOptions& options);

/// The claims as objects.
std::vector<Json> claim_objects(const JoinOptions& options);
/// Behind the installation, which brings their kind along.
Status set_claims(const kube::Client& spoke, const JoinOptions& options, std::vector<install::Change>& changes);

/// Each field of a Klusterlet: what it becomes, or why not.
void tell_fields(const std::string& filename, const std::vector<join::FieldOutcome>& fields, Report& report);

/// What was changed, the agent's ID, and the next step.
void finish_join(Context& context, const std::string& cluster, const std::vector<install::Change>& changes,
                 const std::string& agent_id, Report& report);

}  // namespace fleetadm::commands
