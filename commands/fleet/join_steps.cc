#include "commands/fleet/join_steps.h"

#include <utility>

#include "commands/fleet/changes.h"
#include "commands/framework/dry_run.h"
#include "core/api/cluster_claim.h"
#include "core/api/kinds.h"
#include "core/install/wait_deployment.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {

Status wait_for_cluster(Context& context, const AgentPlace& place, const kube::RestConfig& hub, const JoinOptions& options) {
  context.progress().begin("Waiting for the agent");
  if (Status running = install::wait_deployment(place.cluster, place.ns, place.deployment, options.timeout, context.stop(),
                                                warn_of_trouble(context));
      !running) {
    context.progress().failed(running.error().message);
    return running;
  }
  context.progress().done("running");
  const std::string condition = options.wait == "joined"      ? std::string(api::kConditionJoined)
                                : options.wait == "available" ? std::string(api::kConditionAvailable)
                                                              : std::string();
  context.progress().begin("Waiting until the hub shows the cluster as " + options.wait);
  // The bootstrap token may read clusters; the agent's own credential is none of ours.
  const auto client = context.client(hub);
  auto reached = [&](const std::optional<Json>& cluster) -> Result<bool> {
    if (!cluster) return false;
    if (condition.empty()) return true;
    for (const Json& entry : list_at(*cluster, {"status", "conditions"})) {
      if (str(entry, {"type"}) == condition) return str(entry, {"status"}) == "True";
    }
    return false;
  };
  auto waited =
      kube::wait_for(client, api::managed_clusters(), "", options.cluster_name, reached, options.timeout, context.stop());
  if (!waited) {
    context.progress().failed(waited.error().message);
    Error error = waited.error().wrap("the hub does not show the cluster " + options.cluster_name + " as " + options.wait);
    error.hint = "check the agent's log: kubectl -n " + place.ns + " logs deploy/" + place.deployment;
    return fail(std::move(error));
  }
  context.progress().done();
  return {};
}

Json checks_json(const std::vector<join::Check>& checks) {
  Json list = Json::array();
  for (const auto& check : checks) {
    list.push_back(
        Json{{"check", check.name}, {"outcome", std::string(join::to_string(check.outcome))}, {"detail", check.detail}});
  }
  return list;
}

Table checks_table(const std::vector<join::Check>& checks) {
  Table table;
  table.columns = {{"CHECK"}, {"OUTCOME"}, {"DETAIL"}};
  for (const auto& check : checks) table.rows.push_back({check.name, std::string(join::to_string(check.outcome)), check.detail});
  return table;
}

void tell_checks(Progress& progress, const std::vector<join::Check>& checks) {
  for (const auto& check : checks) {
    // A check that did not run has no tick; the error tells at which one the way ended.
    if (check.outcome == join::Outcome::kSkipped) continue;
    if (check.outcome == join::Outcome::kWarning) {
      progress.warn(check.name + ": " + check.detail);
      continue;
    }
    progress.begin(check.name);
    if (check.outcome == join::Outcome::kPassed) {
      progress.done(check.detail);
    } else {
      progress.failed(check.detail);
    }
  }
}

std::vector<Json> claim_objects(const JoinOptions& options) {
  std::vector<Json> claims;
  for (const auto& [name, value] : claims_of(options)) claims.push_back(api::cluster_claim(name, value));
  return claims;
}

/// Behind the installation, which brings their kind along.
Status set_claims(const kube::Client& spoke, const JoinOptions& options, std::vector<install::Change>& changes) {
  using Outcome = api::StoredClaim::Outcome;
  const bool dry_run = spoke.gate().dry_run != kube::DryRun::kNone;
  for (const auto& [name, value] : claims_of(options)) {
    install::Change change{api::cluster_claims().kind, {}, name, install::Action::kCreated, api::cluster_claims().group};
    const auto stored = api::set_claim(spoke, name, value);
    if (!stored && !(dry_run && stored.error().code == 404)) return fail(stored.error().wrap("claim " + name));
    if (!stored) change.unchecked = "its kind does not exist yet";
    if (stored && stored->outcome == Outcome::kChanged) change.action = install::Action::kConfigured;
    if (stored && stored->outcome == Outcome::kUnchanged) change.action = install::Action::kUnchanged;
    changes.push_back(std::move(change));
  }
  return {};
}

/// Each field of a Klusterlet: what it becomes, or why not.
void tell_fields(const std::string& filename, const std::vector<join::FieldOutcome>& fields, Report& report) {
  Json list = Json::array();
  for (const join::FieldOutcome& field : fields) {
    report.lines.push_back(field.field + (field.effective ? ": " : " has no effect: ") + field.outcome);
    list.push_back(Json{{"field", field.field}, {"effective", field.effective}, {"outcome", field.outcome}});
  }
  if (!filename.empty()) report.data["klusterlet"] = std::move(list);
}

void finish_join(Context& context, const std::string& cluster, const std::vector<install::Change>& changes,
                 const std::string& agent_id, Report& report) {
  report.data["changes"] = install::to_json(changes);
  std::vector<std::string> lines = change_lines(changes, dry_run_mark(context));
  if (lines.empty()) lines.emplace_back("The agent is already installed; nothing changed.");
  report.lines.insert(report.lines.end(), lines.begin(), lines.end());
  report.names = change_names(changes);
  if (is_dry(context)) return;
  std::string accept = "fleetadm accept " + cluster;
  if (!agent_id.empty()) {
    report.data["agent-id"] = agent_id;
    report.notes.push_back("The agent of this cluster has the ID " + agent_id + "; what is accepted has to show the same one.");
    accept += " --agent-id " + agent_id;
  }
  report.notes.push_back("Now accept the cluster on the hub: " + accept);
}

}  // namespace fleetadm::commands
