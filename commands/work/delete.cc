// work delete: takes a work, and what it put on the clusters, away.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/named.h"
#include "commands/framework/work_guard.h"
#include "commands/framework/write_report.h"
#include "commands/work/selection.h"
#include "commands/work/waiting.h"
#include "commands/work/work.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

struct DeleteOptions {
  TargetOptions targets;
  WorkGuardOptions guard;
  bool all_clusters = false;
  bool wait = true;
  Duration timeout = kWaitTimeout;
};

Error of_a_set(const Json& work) {
  std::string owner = label_of(work, work::kReplicaSetLabel);
  if (const std::size_t dot = owner.find('.'); dot != std::string::npos) owner[dot] = '/';
  return fail(Category::kUsage,
              "work " + name_of(work) + " for cluster " + namespace_of(work) + " belongs to ManifestWorkReplicaSet " + owner +
                  ", which would re-create it",
              "delete it for the placement: fleetadm work delete " + kube::split_key(owner).name + " --placement " +
                  kube::split_key(owner).ns + "/" + label_of(work, work::kPlacementNameLabel))
      .value()
      .with_cluster(namespace_of(work));
}

/// Deleting what is gone succeeds, so that a run that was interrupted can be repeated.
std::string already_gone(const std::string& name, const std::string& where) {
  return "work " + name + " not found " + where + " (nothing to delete)";
}

using WorksByCluster = std::map<std::string, std::vector<Json>>;

/// The works to delete by cluster; a cluster that is named and has none is there with an empty list.
Result<WorksByCluster> chosen_works(const kube::Client& hub, const DeleteOptions& options, const std::string& name) {
  std::vector<std::string> clusters = options.targets.clusters;
  if (!options.targets.selector.empty()) {
    FLEETADM_TRY(ClusterTargets targets, cluster_targets(hub, options.targets));
    clusters = std::move(targets.clusters);
  }
  FLEETADM_TRY(std::vector<Json> works, works_called(hub, name, clusters));
  WorksByCluster chosen;
  // A cluster that is gone may still have its works' namespace: named clusters are taken at their word.
  for (const std::string& cluster : clusters) chosen[cluster];
  for (Json& work : works) {
    const std::string cluster = namespace_of(work);
    if (options.all_clusters || chosen.contains(cluster)) chosen[cluster].push_back(std::move(work));
  }
  return chosen;
}

work::Removals removals_by(const WorksByCluster& chosen) {
  work::Removals removals;
  for (const auto& [cluster, works] : chosen) {
    for (const Json& work : works) {
      if (!label_of(work, work::kReplicaSetLabel).empty() || is_deleting(work)) continue;
      removals.clusters.insert(cluster);
      removals.objects += work::deleted_objects(object_at(work, {"spec"}));
    }
  }
  return removals;
}

/// Deletes the works of one cluster; the answer is the names of those that are going.
std::vector<std::string> delete_on(const kube::Client& hub, const std::string& cluster, const std::vector<Json>& works,
                                   const std::string& name, Report& report) {
  std::vector<std::string> going;
  if (works.empty()) report.notes.push_back(already_gone(name, "for cluster " + cluster));
  for (const Json& work : works) {
    if (!label_of(work, work::kReplicaSetLabel).empty()) {
      report.failures.push_back(of_a_set(work));
      continue;
    }
    kube::DeleteOptions which;
    which.uid = uid_of(work);
    const Result<Json> gone = hub.remove(api::manifest_works(), cluster, name_of(work), which);
    if (!gone && gone.error().category != Category::kNotFound) {
      report.failures.push_back(gone.error().with_cluster(cluster));
      continue;
    }
    going.push_back(name_of(work));
    report.names.push_back(full_name(api::manifest_works(), name_of(work)));
  }
  return going;
}

Result<Report> from_clusters(Context& context, const kube::Client& hub, const DeleteOptions& options, const std::string& name) {
  FLEETADM_TRY(const WorksByCluster chosen, chosen_works(hub, options, name));
  Report report;
  const work::Removals removals = removals_by(chosen);
  FLEETADM_CHECK(check_removals(context, hub, options.guard, "deleting work " + name, removals, report.notes));
  if (options.guard.guard.plan) return removal_plan(hub, "deleting work " + name, name, removals);
  std::vector<std::pair<std::string, std::string>> removed;     // cluster, work
  std::map<std::string, std::vector<std::string>> clusters_of;  // work → clusters
  for (const auto& [cluster, works] : chosen) {
    if (context.stop().stop_requested())
      return fail(Category::kCancelled,
                  "stopped; " + pluralize(removed.size(), "work") + (removed.size() == 1 ? " is" : " are") + " being deleted");
    for (const std::string& gone : delete_on(hub, cluster, works, name, report)) {
      removed.emplace_back(cluster, gone);
      clusters_of[gone].push_back(cluster);
    }
  }
  if (chosen.empty()) report.notes.push_back(already_gone(name, "on any cluster"));
  if (removed.empty() && report.failures.empty()) {
    NearNames near(hub, api::manifest_works(), chosen.size() == 1 ? chosen.begin()->first : "");
    note_near(near, "work", name, report);
  }
  if (removed.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  const bool waits = options.wait && context.global().dry_run == kube::DryRun::kNone && !removed.empty();
  if (waits) {
    std::vector<Error> late;
    std::set<std::string> waited;
    for (const auto& [work, clusters] : clusters_of) {
      waited.insert(clusters.begin(), clusters.end());
      for (Error& one : wait_until_gone(context, hub, work, clusters, options.timeout)) late.push_back(std::move(one));
    }
    tell_late(report, std::move(late), waited.size());
  }
  Json items = Json::array();
  for (const auto& [cluster, work] : removed) {
    const bool late = std::any_of(report.failures.begin(), report.failures.end(),
                                  [&, &in = cluster](const Error& error) { return error.cluster == in; });
    const bool gone = waits && !late;
    report.lines.push_back("work " + work + (gone ? " deleted from cluster " : " is being deleted from cluster ") + cluster +
                           dry_run_mark(context));
    items.push_back(Json::object({{"name", work}, {"cluster", cluster}, {"gone", gone}}));
  }
  report.data = Json::object({{"kind", "DeleteReport"}, {"works", std::move(items)}});
  return report;
}

/// Clusters that this placement alone gives the sets.
Result<work::Removals> set_removals(const kube::Client& hub, const PlacementRef& ref, const std::vector<Json>& sets) {
  work::Removals removals;
  for (const Json& set : sets) {
    FLEETADM_TRY(const std::vector<std::string> decided, decided_clusters(hub, ref));
    std::set<std::string> lost(decided.begin(), decided.end());
    for (const Json& one : list_at(set, {"spec", "placementRefs"})) {
      if (str(one, {"name"}) == ref.name) continue;
      FLEETADM_TRY(const std::vector<std::string> others, decided_clusters(hub, {ref.ns, str(one, {"name"})}));
      for (const std::string& cluster : others) lost.erase(cluster);
    }
    removals.objects +=
        work::deleted_objects(object_at(set, {"spec", "manifestWorkTemplate"})) * static_cast<std::int64_t>(lost.size());
    removals.clusters.merge(lost);
  }
  return removals;
}

Result<bool> delete_set(const kube::Client& hub, const PlacementRef& ref, const Json& set, Report& report) {
  const Json& refs = list_at(set, {"spec", "placementRefs"});
  const auto same = [&](const Json& one) { return str(one, {"name"}) == ref.name; };
  if (refs.size() > 1) {
    // The set has other placements: it stays, without this one.
    FLEETADM_TRY(report.data, hub.modify(api::manifest_work_replica_sets(), ref.ns, name_of(set), [&](Json& object) -> Status {
      Json kept = Json::array();
      for (const Json& one : list_at(object, {"spec", "placementRefs"})) {
        if (!same(one)) kept.push_back(one);
      }
      at_or_make(object, {"spec", "placementRefs"}) = std::move(kept);
      return {};
    }));
    return false;
  }
  kube::DeleteOptions which;
  which.uid = uid_of(set);
  const Result<Json> removed = hub.remove(api::manifest_work_replica_sets(), ref.ns, name_of(set), which);
  if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  return true;
}

Result<Report> from_placement(Context& context, const kube::Client& hub, const DeleteOptions& options, const std::string& name) {
  FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.targets.placement));
  const auto selected = select_works(hub, name, ref.ns, ref);
  if (!selected && selected.error().category == Category::kNotFound && selected.error().code == 0) {
    Report nothing;
    nothing.data = Json::object({{"kind", "DeleteReport"}, {"sets", Json::array()}});
    nothing.notes.push_back(already_gone(name, "for placement " + ref.ns + "/" + ref.name));
    NearNames near(hub, api::manifest_work_replica_sets(), ref.ns);
    note_near(near, "work", name, nothing);
    return nothing;
  }
  FLEETADM_TRY(const WorkSelection selection, selected);
  FLEETADM_TRY(const work::Removals removals, set_removals(hub, ref, selection.sets));
  Report report;
  FLEETADM_CHECK(check_removals(context, hub, options.guard, "deleting work " + name, removals, report.notes));
  if (options.guard.guard.plan) return removal_plan(hub, "deleting work " + name, ref.ns + "/" + name, removals);
  const std::string where = " placement " + ref.ns + "/" + ref.name;
  Json items = Json::array();
  for (const Json& set : selection.sets) {
    const std::string part = name_of(set);
    FLEETADM_TRY(const bool removed, delete_set(hub, ref, set, report));
    report.names.push_back(full_name(api::manifest_work_replica_sets(), part));
    bool gone = false;
    if (removed && options.wait && context.global().dry_run == kube::DryRun::kNone) {
      FLEETADM_CHECK(wait_until_set_is_gone(context, hub, ref.ns, part, options.timeout));
      gone = true;
    }
    report.lines.push_back("work " + part +
                           (!removed ? " is being removed from"
                            : gone   ? " deleted from"
                                     : " is being deleted from") +
                           where + dry_run_mark(context));
    items.push_back(Json::object({{"set", ref.ns + "/" + part}, {"gone", gone}}));
  }
  if (items.size() == 1 && report.data.is_null()) {
    report.data = Json::object({{"kind", "DeleteReport"}, {"set", items[0]["set"]}, {"gone", items[0]["gone"]}});
  } else if (report.data.is_null() || items.size() > 1) {
    report.data = Json::object({{"kind", "DeleteReport"}, {"sets", std::move(items)}});
  }
  return report;
}

}  // namespace

void register_work_delete(Registry& registry) {
  Command command;
  command.path = "work delete";
  command.group = "Work";
  command.summary = "Delete a work and its objects from clusters";
  command.description =
      "The agents delete the objects that the work owns; the command waits for that, unless --wait=false is given. "
      "A work that was created for a placement is deleted with --placement. Deleting from many clusters, "
      "or deleting many objects, requires --allow-removals. "
      "Deleting a work that does not exist succeeds.";
  command.args = {"NAME", 1, 1};
  command.args.complete = Complete::kWorks;
  command.aliases = {"delete work"};
  command.examples = {
      {"From two clusters", "fleetadm work delete web --clusters c1,c2"},
      {"A work that was created for a placement", "fleetadm work delete web --placement apps/eu --allow-removals"}};
  command.make = invocation<DeleteOptions>(
      [](FlagSet& flags, DeleteOptions& options) {
        bind_targets(flags, options.targets);
        flags.boolean(&options.all_clusters, "all-clusters", "all clusters that have the work");
        wait_flag(flags, &options.wait, "wait until it has been deleted from the clusters");
        timeout_flag(flags, &options.timeout, "how long to wait");
        bind_work_guard(flags, options.guard);
      },
      [](const DeleteOptions& options, const std::vector<std::string>& args) -> Status {
        FLEETADM_CHECK(validate_work_name(args.empty() ? std::string{} : args.front()));
        FLEETADM_CHECK(validate_work_guard(options.guard));
        const TargetOptions& targets = options.targets;
        if (!options.all_clusters) return validate_targets(targets, " or --all-clusters");
        if (targets.clusters.empty() && targets.selector.empty() && targets.placement.empty()) return {};
        return fail(Category::kUsage, "--all-clusters cannot be combined with --clusters, -l or --placement");
      },
      [](Context& context, const DeleteOptions& options, const std::vector<std::string>& args) -> Result<Report> {
        FLEETADM_TRY(const kube::Client hub, context.client());
        if (!options.targets.placement.empty()) return from_placement(context, hub, options, args.front());
        return from_clusters(context, hub, options, args.front());
      });
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
