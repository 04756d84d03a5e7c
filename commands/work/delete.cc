// work delete: takes a work, and what it put on the clusters, away.
#include <algorithm>
#include <utility>

#include "commands/work/targets.h"
#include "commands/work/waiting.h"
#include "commands/work/work.h"
#include "core/api/kinds.h"
#include "core/work/names.h"

namespace fleetadm::commands {
namespace {

struct Options {
  TargetOptions targets;
  bool all_clusters = false;
  bool wait = false;
  Duration timeout = std::chrono::minutes(2);
};

Error of_a_set(const Json& work) {
  std::string owner = label_of(work, work::kReplicaSetLabel);
  if (const std::size_t dot = owner.find('.'); dot != std::string::npos) owner[dot] = '/';
  return fail(Category::kUsage,
              "work " + name_of(work) + " of cluster " + namespace_of(work) + " is made by the set " + owner +
                  ", which would make it again",
              "delete the set: fleetadm work delete " + kube::split_key(owner).name + " --placement " +
                  kube::split_key(owner).ns + "/" + label_of(work, work::kPlacementNameLabel))
      .value()
      .with_cluster(namespace_of(work));
}

Error no_such_work(const std::string& name, const std::string& where) {
  return fail(Category::kNotFound, "there is no work \"" + name + "\" " + where, "fleetadm work get lists them").value();
}

Result<std::vector<std::string>> clusters_with(const kube::Client& hub, const std::string& name) {
  kube::ListOptions which;
  which.field_selector = "metadata.name=" + name;
  Result<Json> works = hub.list(api::manifest_works(), {}, which);
  if (!works) return tl::unexpected(on_hub(works.error()));
  std::vector<std::string> clusters;
  for (const Json& work : list_at(*works, {"items"})) clusters.push_back(namespace_of(work));
  if (clusters.empty()) return tl::unexpected(no_such_work(name, "on any cluster"));
  return clusters;
}

Result<std::vector<std::string>> chosen_clusters(const kube::Client& hub, const Options& options, const std::string& name) {
  if (options.all_clusters) return clusters_with(hub, name);
  // A cluster that is gone may still have its works' namespace: named clusters are taken at their word.
  if (options.targets.selector.empty()) return options.targets.clusters;
  FLEETADM_TRY(ClusterTargets targets, cluster_targets(hub, options.targets));
  return targets.clusters;
}

Result<Report> from_clusters(Context& context, const kube::Client& hub, const Options& options, const std::string& name) {
  FLEETADM_TRY(const std::vector<std::string> clusters, chosen_clusters(hub, options, name));
  Report report;
  std::vector<std::string> removed;
  for (const std::string& cluster : clusters) {
    Result<std::optional<Json>> work = hub.find(api::manifest_works(), cluster, name);
    if (!work) {
      report.failures.push_back(on_hub(work.error()).with_cluster(cluster));
      continue;
    }
    if (!*work) {
      report.failures.push_back(no_such_work(name, "for cluster " + cluster).with_cluster(cluster));
      continue;
    }
    if (!label_of(**work, work::kReplicaSetLabel).empty()) {
      report.failures.push_back(of_a_set(**work));
      continue;
    }
    kube::DeleteOptions which;
    which.uid = uid_of(**work);
    Result<Json> gone = hub.remove(api::manifest_works(), cluster, name, which);
    if (!gone && gone.error().category != Category::kNotFound) {
      report.failures.push_back(gone.error().with_cluster(cluster));
      continue;
    }
    removed.push_back(cluster);
    report.names.push_back(qualified_name(api::manifest_works(), name));
  }
  if (removed.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  const bool waits = options.wait && context.global().dry_run == kube::DryRun::kNone && !removed.empty();
  if (waits) {
    for (Error& late : wait_until_gone(context, hub, name, removed, options.timeout)) report.failures.push_back(std::move(late));
  }
  Json items = Json::array();
  for (const std::string& cluster : removed) {
    const bool late =
        std::any_of(report.failures.begin(), report.failures.end(), [&](const Error& error) { return error.cluster == cluster; });
    const bool gone = waits && !late;
    report.lines.push_back("work " + name + (gone ? " deleted from cluster " : " is being deleted from cluster ") + cluster);
    items.push_back(Json::object({{"name", name}, {"cluster", cluster}, {"gone", gone}}));
  }
  report.data = Json::object({{"kind", "DeleteReport"}, {"works", std::move(items)}});
  return report;
}

Result<Report> from_placement(Context& context, const kube::Client& hub, const Options& options, const std::string& name) {
  FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.targets.placement));
  Result<std::optional<Json>> set = hub.find(api::manifest_work_replica_sets(), ref.ns, name);
  if (!set) return tl::unexpected(on_hub(set.error()));
  if (!*set) return tl::unexpected(no_such_work(name, "for placements of namespace " + ref.ns));
  const Json& refs = list_at(**set, {"spec", "placementRefs"});
  const auto same = [&](const Json& one) { return str(one, {"name"}) == ref.name; };
  if (std::none_of(refs.begin(), refs.end(), same))
    return tl::unexpected(no_such_work(name, "for placement " + ref.ns + "/" + ref.name));
  Report report;
  report.names.push_back(qualified_name(api::manifest_work_replica_sets(), name));
  const std::string where = " placement " + ref.ns + "/" + ref.name;
  bool gone = false;
  if (refs.size() > 1) {
    // The set has other placements: it stays, without this one.
    FLEETADM_TRY(report.data, hub.modify(api::manifest_work_replica_sets(), ref.ns, name, [&](Json& object) -> Status {
      Json kept = Json::array();
      for (const Json& one : list_at(object, {"spec", "placementRefs"})) {
        if (!same(one)) kept.push_back(one);
      }
      at_or_make(object, {"spec", "placementRefs"}) = std::move(kept);
      return {};
    }));
    report.lines.push_back("work " + name + " is being taken from" + where);
    return report;
  }
  kube::DeleteOptions which;
  which.uid = uid_of(**set);
  Result<Json> removed = hub.remove(api::manifest_work_replica_sets(), ref.ns, name, which);
  if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  if (options.wait && context.global().dry_run == kube::DryRun::kNone) {
    FLEETADM_CHECK(wait_until_set_is_gone(context, hub, ref.ns, name, options.timeout));
    gone = true;
  }
  report.lines.push_back("work " + name + (gone ? " deleted from" : " is being deleted from") + where);
  report.data = Json::object({{"kind", "DeleteReport"}, {"set", ref.ns + "/" + name}, {"gone", gone}});
  return report;
}

}  // namespace

void register_work_delete(Registry& registry) {
  Command command;
  command.path = "work delete";
  command.group = "Work";
  command.summary = "Take a work and its objects away from clusters";
  command.description =
      "The agents delete what the work owns; --wait waits for that. A work that was made for a placement is deleted with "
      "--placement.";
  command.args = {"NAME", 1, 1};
  command.args.complete = Complete::kWorks;
  command.aliases = {"delete work"};
  command.examples = {{"From two clusters", "fleetadm work delete web --clusters c1,c2 --wait"},
                      {"A work that was made for a placement", "fleetadm work delete web --placement apps/eu"}};
  command.make = invocation<Options>(
      [](FlagSet& flags, Options& options) {
        bind_targets(flags, options.targets);
        flags.boolean(&options.all_clusters, "all-clusters", "every cluster that has it");
        flags.boolean(&options.wait, "wait", "wait until it is gone from the clusters");
        flags.duration(&options.timeout, "timeout", "how long --wait waits");
      },
      [](const Options& options, const std::vector<std::string>& args) -> Status {
        FLEETADM_CHECK(validate_work_name(args.empty() ? std::string{} : args.front()));
        const TargetOptions& targets = options.targets;
        if (!options.all_clusters) return validate_targets(targets, " or --all-clusters");
        if (targets.clusters.empty() && targets.selector.empty() && targets.placement.empty()) return {};
        return fail(Category::kUsage, "--all-clusters excludes --clusters, -l and --placement");
      },
      [](Context& context, const Options& options, const std::vector<std::string>& args) -> Result<Report> {
        FLEETADM_TRY(const kube::Client hub, context.client());
        if (!options.targets.placement.empty()) return from_placement(context, hub, options, args.front());
        return from_clusters(context, hub, options, args.front());
      });
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
