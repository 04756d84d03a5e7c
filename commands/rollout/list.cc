// get rollouts: a row a rollout, as its set's status tells.
#include "commands/framework/grammar.h"
#include "commands/rollout/rollout.h"
#include "core/api/kinds.h"
#include "core/work/rules/replica_set_status.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

struct RolloutsOptions {
  std::string selector;
  bool watch = false;
  bool watch_only = false;
  bool all_namespaces = false;
};

std::string placements_cell(const Json& set) {
  std::vector<std::string> names;
  for (const Json& placement : list_at(set, {"spec", "placementRefs"})) names.push_back(str(placement, {"name"}));
  return or_none(joined(names));
}

// The hub of another maker has only upstream's condition.
const Json* course_of(const Json& set) {
  const Json* own = condition_of(set, work::kRolloutCondition);
  return own != nullptr ? own : condition_of(set, "PlacementRolledOut");
}

Result<Report> rollouts(Context& context, const RolloutsOptions& options, const std::vector<std::string>& args) {
  ListRequest request{args, options.selector, {}, options.watch, options.watch_only};
  if (!options.all_namespaces) {
    FLEETADM_TRY(std::string ns, context.ns());
    request.namespaces = {std::move(ns)};
  }
  return list_objects(context, rollout_view(options.all_namespaces), request);
}

}  // namespace

ListView rollout_view(bool all_namespaces) {
  ListView view;
  view.resource = api::manifest_work_replica_sets();
  view.nothing = "No rollouts found.";
  if (all_namespaces) view.columns.push_back({"NAMESPACE"});
  for (const char* name : {"NAME", "PLACEMENT", "STATUS", "CLUSTERS", "APPLIED", "AVAILABLE", "AGE"})
    view.columns.push_back({name});
  view.columns.push_back({"MESSAGE", true});
  view.row = [all_namespaces](const Json& set, Instant now) {
    const Json* course = course_of(set);
    std::vector<std::string> cells;
    if (all_namespaces) cells.push_back(namespace_of(set));
    cells.push_back(name_of(set));
    cells.push_back(placements_cell(set));
    cells.push_back(or_none(course == nullptr ? "" : str(*course, {"reason"})));
    for (const char* count : {"total", "applied", "available"})
      cells.push_back(std::to_string(num(set, {"status", "summary", count})));
    cells.push_back(age_cell(set, now));
    cells.push_back(course == nullptr ? "" : str(*course, {"message"}));
    return cells;
  };
  return view;
}

void register_rollout_list(Registry& registry) {
  Command command;
  command.path = "get rollouts";
  command.group = "Work";
  command.summary = "List the rollouts in a namespace";
  command.description =
      "Lists ManifestWorkReplicaSets: for which placement, how the rollout stands, and on how many clusters its work is "
      "applied and available. -o wide adds what the hub says about it; \"rollout status\" shows each cluster.";
  command.args = {"[NAME...]", 0, -1, false, Complete::kRollouts};
  command.aliases = {"rollout get", "rollout list", "get rollout", "get manifestworkreplicasets", "get manifestworkreplicaset"};
  command.examples = {{"Rollouts in all namespaces, with what the hub says", "fleetadm get rollouts -A -o wide"}};
  command.make = invocation<RolloutsOptions>(
      [](FlagSet& flags, RolloutsOptions& options) {
        list_flags(flags, options.selector, options.watch, options.watch_only);
        all_namespaces_flag(flags, &options.all_namespaces, "list across all namespaces");
      },
      [](const RolloutsOptions& options, const std::vector<std::string>& args) -> Status {
        if (!options.all_namespaces || args.empty()) return {};
        return fail(Category::kUsage, "--all-namespaces cannot be combined with a name");
      },
      rollouts);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
