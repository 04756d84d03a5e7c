#include <array>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/fleet.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "core/api/cluster_profile.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

struct CleanOptions {
  bool yes = false;
  Duration timeout = kWaitTimeout;
};

void bind_clean(FlagSet& flags, CleanOptions& options) {
  flags.boolean(&options.yes, "yes", "Skip the confirmation prompt", 'y');
  timeout_flag(flags, &options.timeout, "How long to wait until everything is deleted");
}

Status validate_clean(const CleanOptions&, const std::vector<std::string>&) { return {}; }

struct Count {
  kube::Resource resource;
  std::size_t objects = 0;
  std::string first;
};

// How many objects of a type there are; a type that is not served has none.
Result<Count> count(const kube::Client& hub, const kube::Resource& resource) {
  Count result{resource, 0, {}};
  const Status listed = hub.list_each(resource, "", {}, [&](const Json& object) -> Status {
    if (result.objects++ == 0) result.first = kube::object_key(object);
    return {};
  });
  if (!listed && listed.error().category != Category::kNotFound)
    return fail(listed.error().wrap("cannot list " + resource.qualified()));
  return result;
}

// What only the hub controllers and agents can take apart: it has to go before they do.
Status check_empty(const kube::Client& hub) {
  struct Blocker {
    const kube::Resource& resource;
    const char* hint;
  };
  const std::array<Blocker, 3> blockers{
      {{api::managed_clusters(), "remove each cluster first: fleetadm unjoin --cluster-name NAME --hub-context HUB"},
       {api::manifest_work_replica_sets(), "delete them first: kubectl delete manifestworkreplicasets -A --all"},
       {api::manifest_works(), "delete them first: fleetadm work delete"}}};
  for (const auto& [resource, hint] : blockers) {
    FLEETADM_TRY(const Count found, count(hub, resource));
    if (found.objects == 0) continue;
    return fail(Category::kConflict,
                "the hub still has " + pluralize(found.objects, resource.kind) + " (first: " + found.first + ")", hint);
  }
  return {};
}

Status confirm(Context& context, const kube::Client& hub, const CleanOptions& options) {
  if (options.yes || context.global().dry_run != kube::DryRun::kNone) return {};
  std::string lost;
  for (const auto* resource : {&api::placements(), &api::managed_cluster_set_bindings()}) {
    FLEETADM_TRY(const Count found, count(hub, *resource));
    if (found.objects != 0) lost += (lost.empty() ? "" : " and ") + pluralize(found.objects, resource->kind);
  }
  const std::string question = "Remove the hub" + (lost.empty() ? std::string() : " and its " + lost) + "?";
  FLEETADM_TRY(const bool sure, context.terminal().confirm(question));
  if (!sure) return fail(Category::kCancelled, "nothing was changed");
  return {};
}

/// The kind of ClusterProfiles is of all managers of clusters: it stays while another one has profiles.
Result<bool> others_use(const kube::Client& hub, const kube::Resource& resource, const Json& object) {
  const kube::Resource& profiles = api::cluster_profiles();
  if (resource.kind != kube::resources::custom_resource_definitions().kind || name_of(object) != profiles.qualified())
    return false;
  bool others = false;
  const Status listed = hub.list_each(profiles, "", {}, [&others](const Json& profile) -> Status {
    others = others || str(profile, {"spec", "clusterManager", "name"}) != api::kClusterManager;
    return {};
  });
  if (!listed && listed.error().category != Category::kNotFound) return fail(listed.error());
  return others;
}

Result<Report> run_clean(Context& context, const CleanOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_CHECK(check_empty(hub));
  FLEETADM_CHECK(confirm(context, hub, options));
  install::Options how = options_with_progress(context, install::kHubPart, options.timeout);
  how.keep = [&hub](const kube::Resource& resource, const Json& object) { return others_use(hub, resource, object); };
  FLEETADM_TRY(const auto changes,
               step_with_progress(context, "Removing the hub", [&] { return install::remove_part(hub, how); }));
  Report report;
  report.data = Json{{"kind", "CleanReport"}, {"changes", install::to_json(changes)}};
  report.lines = change_lines(changes, dry_run_mark(context));
  report.names = change_names(changes);
  if (changes.empty()) report.notes.emplace_back("Nothing to do: no hub components are installed on this cluster.");
  return report;
}

}  // namespace

void register_clean(Registry& registry) {
  Command command;
  command.path = "clean";
  command.group = "Fleet";
  command.summary = "Remove the hub from the current cluster";
  command.description =
      "Removes what init installed: controllers, admission policies, roles, the bootstrap identity, "
      "namespaces and CRDs (with the remaining placements and cluster sets). "
      "The kind of ClusterProfiles stays while another manager of clusters has some. "
      "It refuses while clusters or works remain, because only the hub controllers can remove those "
      "cleanly.";
  command.examples = {{"Remove the hub without a prompt", "fleetadm clean --yes"},
                      {"See what would be removed", "fleetadm clean --dry-run=client"}};
  command.make = invocation<CleanOptions>(bind_clean, validate_clean, run_clean);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
