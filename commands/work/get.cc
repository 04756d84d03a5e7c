// get works: a row a work.
#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/framework/named.h"
#include "commands/work/selection.h"
#include "commands/work/tree.h"
#include "commands/work/work.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "core/work/rules/progress.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

struct GetOptions {
  std::vector<std::string> clusters;
  bool all = false;  // every cluster, which is also the default: kubectl's users write -A
  std::string selector;
  bool watch = false;
  bool watch_only = false;
};

std::string set_of(const Json& work) {
  std::string owner = label_of(work, work::kReplicaSetLabel);
  if (const std::size_t dot = owner.find('.'); dot != std::string::npos) owner[dot] = '/';
  return owner;
}

// A work is found by its own name, and by that of what it was made for.
bool goes_by(const Json& work, const std::string& name) {
  const std::string set = set_of(work);
  return name_of(work) == name || set == name || kube::split_key(set).name == name || label_of(work, kSplitLabel) == name;
}

std::string why_of(const Json& work) {
  for (const std::string_view type :
       {work::kConditionDeleting, work::kConditionApplied, work::kConditionAvailable, work::kConditionReady}) {
    const Json* condition = condition_of(work, type);
    if (condition == nullptr) continue;
    if ((str(*condition, {"status"}) != "True") != (type == work::kConditionDeleting)) return str(*condition, {"message"});
  }
  return {};
}

Status check_get(const GetOptions& options, const std::vector<std::string>& /*names*/) {
  if (options.all && !options.clusters.empty()) return fail(Category::kUsage, "--clusters cannot be combined with -A");
  for (const std::string& cluster : options.clusters) {
    if (!is_dns_label(cluster))
      return fail(Category::kUsage, "\"" + cluster + "\" is not a valid cluster name (must be a DNS label)",
                  "list the clusters with: fleetadm get clusters");
  }
  return {};
}

Result<Report> run_get(Context& context, const GetOptions& options, const std::vector<std::string>& names) {
  ListRequest request{names, options.selector, options.clusters, options.watch, options.watch_only};
  request.called = goes_by;
  if (!options.clusters.empty()) request.nothing_in = cluster_exists;
  // A cluster's works are in the namespace of its name.
  if (const std::string& ns = context.global().config.ns; !options.all && options.clusters.empty() && !ns.empty())
    request.namespaces = {ns};
  return list_objects(context, work_view(), request);
}

}  // namespace

ListView work_view() {
  ListView view;
  view.resource = api::manifest_works();
  view.nothing = "No works found.";
  view.columns = {{"CLUSTER"}, {"NAME"},      {"MANIFESTS"}, {"APPLIED"},   {"AVAILABLE"},
                  {"READY"},   {"PLACEMENT"}, {"AGE"},       {"SET", true}, {"MESSAGE", true}};
  view.row = [](const Json& work, Instant now) -> std::vector<std::string> {
    return {namespace_of(work),
            name_of(work),
            std::to_string(list_at(work, {"spec", "workload", "manifests"}).size()),
            condition_cell(work, work::kConditionApplied),
            condition_cell(work, work::kConditionAvailable),
            work::ready_text(work),
            or_none(label_of(work, work::kPlacementNameLabel)),
            age_cell(work, now),
            or_none(set_of(work)),
            why_of(work)};
  };
  view.branches = [](const Json& work) { return work_branches(work::progress_of(work)); };
  return view;
}

void register_work_get(Registry& registry) {
  Command command;
  command.path = "get works";
  command.group = "Work";
  command.summary = "List works and whether they are applied and available";
  command.description =
      "NAME is a work's name, or the name of the ManifestWorkReplicaSet that created it. "
      "-o wide adds the reason for anything that is not healthy.";
  command.args = {"[NAME...]", 0, -1};
  command.args.complete = Complete::kWorks;
  command.aliases = {"work get", "work list", "get work", "get manifestworks", "get manifestwork"};
  command.examples = {{"All works for one cluster", "fleetadm get works --clusters c1"},
                      {"One work on all of its clusters, with reasons", "fleetadm get works web -o wide"}};
  command.tree = true;
  command.make = invocation<GetOptions>(
      [](FlagSet& flags, GetOptions& options) {
        list_flags(flags, options.selector, options.watch, options.watch_only);
        clusters_flag(flags, &options.clusters, "only works for these clusters");
        all_namespaces_flag(flags, &options.all, "works for all clusters (the default without -n)").aliases = {"all-clusters"};
      },
      check_get, run_get);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
