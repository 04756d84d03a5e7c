// work create and work apply: the same manifests to clusters by name or label, or to what a placement selects.
#include <algorithm>
#include <set>
#include <utility>

#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/framework/strategy.h"
#include "commands/framework/work_guard.h"
#include "commands/framework/write_report.h"
#include "commands/work/selection.h"
#include "commands/work/waiting.h"
#include "commands/work/work.h"
#include "commands/work/writing.h"
#include "core/api/kinds.h"
#include "core/work/plan/diff.h"
#include "core/work/plan/split.h"
#include "core/work/rules/names.h"
#include "core/work/rules/progress.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

struct CreateOptions {
  std::vector<std::string> files;
  TargetOptions targets;
  StrategyOptions strategy;
  WorkGuardOptions guard;
  bool overwrite = false;
  bool prune = false;
  std::string wait = "none";  // or "applied", "available", "ready"
  Duration timeout = kWaitTimeout;
};

/// One call: what is asked for, and what came of the files.
struct Call {
  const CreateOptions& options;
  std::string name;
  bool overwrite = false;
  const std::vector<LoadedManifest>& loaded;

  std::set<std::string> identities() const {
    std::set<std::string> all;
    for (const LoadedManifest& one : loaded) all.insert(work::manifest_identity(one.object));
    return all;
  }
};

/// The parts of the call's manifests where `existing` has them now, and a note where there are several.
Result<std::vector<work::WorkPart>> parts_of(const Call& call, const std::vector<Json>& existing, Report& report) {
  std::vector<work::WorkPart> parts =
      work::split_manifests(call.name, manifest_list(call.loaded), work::placed_objects(existing), work::kManifestLimit);
  for (const work::WorkPart& part : parts) FLEETADM_CHECK(validate_work_name(part.name));
  if (parts.size() > 1 && call.name.size() > kMaxSplitName) {
    return fail(Category::kUsage,
                "the manifests need " + std::to_string(parts.size()) + " works, and the name is " +
                    std::to_string(call.name.size()) + " characters long",
                "the name of a work that is split is limited to " + std::to_string(kMaxSplitName) + " characters");
  }
  if (parts.size() > 1) {
    std::string names;
    for (const work::WorkPart& part : parts) names += (names.empty() ? "" : ", ") + part.name;
    report.notes.push_back("The manifests exceed the size limit of one work (" + std::to_string(work::kManifestLimit / 1024) +
                           " KiB): they are split into " + std::to_string(parts.size()) + " works, " + names + ".");
  }
  // A part that loses an object to another is written last, so that the object never has no work at all.
  std::stable_partition(parts.begin(), parts.end(), [](const work::WorkPart& part) { return !part.gives_away; });
  return parts;
}

bool has_part(const std::vector<work::WorkPart>& parts, const std::string& name) {
  return std::any_of(parts.begin(), parts.end(), [&](const work::WorkPart& part) { return part.name == name; });
}

/// Works that the call leaves behind: of parts that are no more, and with --prune of clusters that are not meant any more.
struct Leftovers {
  std::vector<Json> works;
  work::Removals removals;
};

Leftovers leftovers_of(const Call& call, const std::vector<Json>& existing, const std::vector<work::WorkPart>& parts,
                       const std::set<std::string>& targets, const std::map<std::string, Json>& clusters, Report& report) {
  Leftovers left;
  const std::set<std::string> kept = call.identities();
  for (const Json& work : existing) {
    const std::string cluster = namespace_of(work);
    if (!not_of_a_set(work) || is_deleting(work)) continue;
    if (targets.contains(cluster)) {
      left.removals.objects += work::deleted_objects(object_at(work, {"spec"}), kept);
      if (!has_part(parts, name_of(work))) left.works.push_back(work);
      continue;
    }
    if (!call.options.prune) continue;
    // A cluster that is not heard of may be meant all the same once it is back: its work stays.
    const auto known = clusters.find(cluster);
    if (known == clusters.end() || work::unreachable(known->second)) {
      report.notes.push_back("Cluster " + cluster + " is unreachable; work " + name_of(work) + " is kept there.");
      continue;
    }
    left.removals.clusters.insert(cluster);
    left.removals.objects += work::deleted_objects(object_at(work, {"spec"}));
    left.works.push_back(work);
  }
  return left;
}

void remove_leftovers(const Context& context, const kube::Client& hub, const Leftovers& left,
                      const std::set<std::string>& written, Report& report) {
  for (const Json& work : left.works) {
    const std::string cluster = namespace_of(work);
    // Where the new parts could not be written the old one still has to hold its objects.
    if (!left.removals.clusters.contains(cluster) && !written.contains(cluster)) continue;
    kube::DeleteOptions which;
    which.uid = uid_of(work);
    const Result<Json> gone = hub.remove(api::manifest_works(), cluster, name_of(work), which);
    if (!gone && gone.error().category != Category::kNotFound) {
      report.failures.push_back(gone.error().with_cluster(cluster));
    } else {
      report.lines.push_back("work " + name_of(work) + " pruned from cluster " + cluster + dry_run_mark(context));
    }
  }
}

Result<Report> to_clusters(Context& context, const kube::Client& hub, const Call& call) {
  const CreateOptions& options = call.options;
  FLEETADM_TRY(ClusterTargets targets, cluster_targets(hub, options.targets));
  Report report;
  if (options.prune && !targets.missing.empty()) {
    // A misspelled name must not take the work from the cluster that was meant.
    return tl::unexpected(targets.missing.front().wrap("nothing is pruned while a named cluster is missing"));
  }
  report.failures = std::move(targets.missing);
  const std::set<std::string> meant(targets.clusters.begin(), targets.clusters.end());
  FLEETADM_TRY(const std::vector<Json> existing, works_called(hub, call.name, targets.clusters));
  FLEETADM_TRY(const std::vector<work::WorkPart> parts, parts_of(call, call.overwrite ? existing : std::vector<Json>{}, report));
  Leftovers left;
  if (call.overwrite) {
    const std::map<std::string, Json> clusters =
        options.prune ? clusters_by_name(hub, report.notes) : std::map<std::string, Json>{};
    left = leftovers_of(call, existing, parts, meant, clusters, report);
    FLEETADM_CHECK(check_removals(context, hub, options.guard, "applying work " + call.name, left.removals, report.notes));
  }
  if (options.guard.guard.plan) return removal_plan(hub, "applying work " + call.name, call.name, left.removals);
  const bool split = parts.size() > 1;
  std::vector<Json> written;
  std::set<std::string> complete;
  for (const std::string& cluster : targets.clusters) {
    bool all = true;
    for (const work::WorkPart& part : parts) {
      if (context.stop().stop_requested())
        return fail(Category::kCancelled, "stopped after writing the work for " + pluralize(complete.size(), "cluster"));
      const std::string what = "work " + part.name + " for cluster " + cluster;
      Result<Written> one =
          write_work(hub, api::manifest_works(), work_object(part.name, cluster, part.manifests, split ? call.name : ""), "",
                     call.overwrite, what, not_of_a_set);
      if (!one) {
        report.failures.push_back(on_hub(one.error()).with_cluster(cluster));
        all = false;
        break;
      }
      report.lines.push_back("work " + part.name + " " + one->outcome + " for cluster " + cluster + dry_run_mark(context));
      report.names.push_back(full_name(api::manifest_works(), part.name));
      written.push_back(std::move(one->object));
    }
    if (all) complete.insert(cluster);
  }
  if (written.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  remove_leftovers(context, hub, left, complete, report);
  if (options.wait != "none" && context.global().dry_run == kube::DryRun::kNone && !complete.empty()) {
    const std::vector<std::string> waited(complete.begin(), complete.end());
    std::vector<Error> late;
    for (const work::WorkPart& part : parts) {
      for (Error& one : wait_for_works(context, hub, part.name, waited, options.wait, options.timeout, report))
        late.push_back(std::move(one));
    }
    tell_late(report, std::move(late), waited.size());
  }
  report.data = list_of(std::move(written));
  return report;
}

/// The sets NAME and its parts in a namespace.
Result<std::vector<Json>> sets_called(const kube::Client& hub, const std::string& ns, const std::string& name) {
  std::vector<Json> sets;
  if (const auto parts = parts_named(name)) {
    Result<Json> listed = hub.list(api::manifest_work_replica_sets(), ns, *parts);
    if (!listed) return tl::unexpected(on_hub(listed.error()));
    for (const Json& set : list_at(*listed, {"items"})) sets.push_back(set);
  }
  if (sets.empty()) {
    FLEETADM_TRY(std::optional<Json> set, hub.find(api::manifest_work_replica_sets(), ns, name));
    if (set) sets.push_back(std::move(*set));
  }
  for (Json& set : sets) set["kind"] = "ManifestWorkReplicaSet";
  return sets;
}

/// Objects that leave the sets, and clusters that lose them because the sets move to another placement.
Result<work::Removals> set_removals(const kube::Client& hub, const Call& call, const PlacementRef& ref,
                                    const std::vector<Json>& sets) {
  work::Removals removals;
  const std::set<std::string> kept = call.identities();
  std::set<std::string> stay;
  bool asked = false;
  for (const Json& set : sets) {
    const Json& refs = list_at(set, {"spec", "placementRefs"});
    std::set<std::string> now;
    bool moves = true;
    for (const Json& one : refs) {
      FLEETADM_TRY(const std::vector<std::string> clusters, decided_clusters(hub, {ref.ns, str(one, {"name"})}));
      now.insert(clusters.begin(), clusters.end());
      moves = moves && str(one, {"name"}) != ref.name;
    }
    const Json& work = object_at(set, {"spec", "manifestWorkTemplate"});
    removals.objects += work::deleted_objects(work, kept) * static_cast<std::int64_t>(now.size());
    if (!moves) continue;
    if (!asked) {
      FLEETADM_TRY(const std::vector<std::string> clusters, decided_clusters(hub, ref));
      stay.insert(clusters.begin(), clusters.end());
      asked = true;
    }
    for (const std::string& cluster : now) {
      if (stay.contains(cluster)) continue;
      removals.clusters.insert(cluster);
      removals.objects += work::deleted_objects(work) - work::deleted_objects(work, kept);
    }
  }
  return removals;
}

Status check_names(const std::string& ns, const std::vector<work::WorkPart>& parts) {
  for (const work::WorkPart& part : parts) {
    if (const std::string label = ns + "." + part.name; label.size() > 63) {
      return fail(Category::kUsage, "\"" + label + "\" is " + std::to_string(label.size()) + " characters long",
                  "a work's namespace and name together are limited to 62 characters");
    }
  }
  return {};
}

/// Writes a set for each part, and takes away those of an earlier form of the work.
Status write_sets(Context& context, const kube::Client& hub, const Call& call, const PlacementRef& ref,
                  const std::vector<work::WorkPart>& parts, const std::vector<Json>& existing, Report& report) {
  const CreateOptions& options = call.options;
  const auto same_placement = [&](Json& set) -> Status {
    edit_success(set, options.strategy, false);
    return edit_placement_refs(set, ref.name, options.strategy);
  };
  std::vector<Json> written;
  for (const work::WorkPart& part : parts) {
    const std::string what = "ManifestWorkReplicaSet " + ref.ns + "/" + part.name;
    Json wanted = set_object(part.name, ref, part.manifests, parts.size() > 1 ? call.name : "");
    FLEETADM_CHECK(edit_placement_refs(wanted, ref.name, options.strategy));
    FLEETADM_CHECK(check_first(hub, wanted, ref.name, options.strategy));
    edit_success(wanted, options.strategy, true);
    Result<Written> one =
        write_work(hub, api::manifest_work_replica_sets(), wanted, "manifestWorkTemplate", call.overwrite, what, same_placement);
    if (!one) return tl::unexpected(on_hub(one.error()));
    report.lines.push_back("work " + part.name + " " + one->outcome + " for placement " + ref.ns + "/" + ref.name +
                           dry_run_mark(context));
    report.names.push_back(full_name(api::manifest_work_replica_sets(), part.name));
    written.push_back(std::move(one->object));
  }
  for (const Json& set : existing) {
    if (!call.overwrite || has_part(parts, name_of(set))) continue;
    kube::DeleteOptions which;
    which.uid = uid_of(set);
    const Result<Json> gone = hub.remove(api::manifest_work_replica_sets(), ref.ns, name_of(set), which);
    if (!gone && gone.error().category != Category::kNotFound) return tl::unexpected(gone.error());
    report.lines.push_back("work " + name_of(set) + " pruned from placement " + ref.ns + "/" + ref.name + dry_run_mark(context));
  }
  report.data = written.size() == 1 ? std::move(written.front()) : list_of(std::move(written));
  return {};
}

Result<Report> to_placement(Context& context, const kube::Client& hub, const Call& call) {
  const CreateOptions& options = call.options;
  FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.targets.placement));
  FLEETADM_CHECK(placement_exists(hub, ref));
  FLEETADM_TRY(const std::vector<Json> existing, sets_called(hub, ref.ns, call.name));
  Report report;
  FLEETADM_TRY(const std::vector<work::WorkPart> parts, parts_of(call, call.overwrite ? existing : std::vector<Json>{}, report));
  FLEETADM_CHECK(check_names(ref.ns, parts));
  if (call.overwrite) {
    FLEETADM_TRY(const work::Removals removals, set_removals(hub, call, ref, existing));
    FLEETADM_CHECK(check_removals(context, hub, options.guard, "applying work " + call.name, removals, report.notes));
    if (options.guard.guard.plan) return removal_plan(hub, "applying work " + call.name, ref.ns + "/" + call.name, removals);
  }
  if (options.guard.guard.plan) return removal_plan(hub, "creating work " + call.name, ref.ns + "/" + call.name, {});
  FLEETADM_CHECK(write_sets(context, hub, call, ref, parts, existing, report));
  if (context.global().dry_run != kube::DryRun::kNone) return report;
  if (options.wait == "none") {
    report.notes.push_back("The hub creates a work on each selected cluster; list them with: fleetadm get works " + call.name);
    return report;
  }
  std::vector<Error> late;
  for (const work::WorkPart& part : parts) {
    for (Error& one : wait_for_set(context, hub, ref, part.name, options.wait, options.timeout, report))
      late.push_back(std::move(one));
  }
  if (late.empty()) return report;
  const Result<std::vector<std::string>> decided = decided_clusters(hub, ref);
  tell_late(report, std::move(late), decided ? decided->size() : 1);
  return report;
}

Result<Report> run_create(Context& context, const CreateOptions& options, const std::string& name, bool overwrite) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  FLEETADM_CHECK(check_manifests(loaded));
  FLEETADM_TRY(const kube::Client hub, context.client());
  const Call call{options, name, overwrite, loaded};
  if (!options.targets.placement.empty()) return to_placement(context, hub, call);
  return to_clusters(context, hub, call);
}

void bind(FlagSet& flags, CreateOptions& options) {
  manifests_flag(flags, options.files).required = true;
  bind_targets(flags, options.targets);
  bind_strategy(flags, options.strategy);
  wait_flag(flags, &options.wait, {"applied", "available", "ready"}, "ready", "wait until the agents report this condition");
  timeout_flag(flags, &options.timeout, "how long to wait");
  bind_work_guard(flags, options.guard);
}

Status validate_create(const CreateOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_work_name(args.empty() ? std::string{} : args.front()));
  if (options.files.empty()) return fail(Category::kUsage, "no manifests given", "use -f FILE, -f FOLDER or -f -");
  FLEETADM_CHECK(validate_work_guard(options.guard));
  if (options.prune && !options.targets.placement.empty())
    return fail(Category::kUsage, "--prune requires --clusters or -l; for a placement the hub prunes works itself");
  FLEETADM_CHECK(validate_targets(options.targets));
  if ((options.strategy.any() || !options.strategy.success_when.empty()) && options.targets.placement.empty()) {
    return fail(Category::kUsage,
                "rollout flags require --placement; works for clusters named with --clusters or -l are all created "
                "at once",
                "create a placement with: fleetadm placement create");
  }
  FLEETADM_TRY([[maybe_unused]] const Json strategy, strategy_over(options.strategy, Json()));
  return {};
}

}  // namespace

void register_work_create(Registry& registry) {
  Command create;
  create.path = "work create";
  create.group = "Work";
  create.summary = "Distribute manifests to clusters";
  create.description =
      "With --clusters or -l, a ManifestWork is created for each of these clusters. "
      "With --placement, a ManifestWorkReplicaSet is created in the placement's namespace, and the hub "
      "keeps a work on every cluster that the placement selects, now and later: on all of them at once, "
      "or according to the rollout flags (--strategy and the flags listed after it).";
  create.args = {"NAME", 1, 1};
  create.aliases = {"create work"};
  create.examples = {{"To two clusters", "fleetadm work create web -f web.yaml --clusters c1,c2"},
                     {"To the clusters that a placement selects, waiting until the objects are ready",
                      "fleetadm work create web -f manifests/ --placement apps/eu --wait"},
                     {"A canary group first, then a quarter at a time",
                      "fleetadm work create web -f web.yaml --placement apps/eu --first canary --max-concurrency 25%"},
                     {"From another program", "kustomize build . | fleetadm work create web -f - -l env=dev"}};
  create.make = invocation<CreateOptions>(
      [](FlagSet& flags, CreateOptions& options) {
        bind(flags, options);
        flags.boolean(&options.overwrite, "overwrite", "replace the manifests if the work already exists");
      },
      validate_create,
      [](Context& context, const CreateOptions& options, const std::vector<std::string>& args) {
        return run_create(context, options, args.front(), options.overwrite);
      });
  registry.add(std::move(create));

  Command apply;
  apply.path = "work apply";
  apply.group = "Work";
  apply.summary = "Distribute manifests, or update those already distributed";
  apply.description =
      "Like \"work create\", but updates a work that already exists (and, if rollout flags are given, "
      "its strategy). Running it again changes nothing. With --prune, the work is removed from clusters "
      "that are no longer named (an unreachable cluster keeps it). Removing works from many clusters, "
      "or deleting many objects, requires --allow-removals. Manifests that exceed the limit of one work "
      "are split into several works, NAME-part2 and so on, and an object stays in its part.";
  apply.args = {"NAME", 1, 1};
  apply.args.complete = Complete::kWorks;
  apply.examples = {{"A new version", "fleetadm work apply web -f web.yaml --placement apps/eu --wait"}};
  apply.make = invocation<CreateOptions>(
      [](FlagSet& flags, CreateOptions& options) {
        bind(flags, options);
        flags.boolean(&options.prune, "prune", "remove the work from clusters that are no longer named");
      },
      validate_create,
      [](Context& context, const CreateOptions& options, const std::vector<std::string>& args) {
        return run_create(context, options, args.front(), true);
      });
  registry.add(std::move(apply));
}

}  // namespace fleetadm::commands
