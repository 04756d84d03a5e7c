// work create and work apply: the same manifests to clusters by name or label, or to what a placement selects.
#include <algorithm>
#include <utility>

#include "commands/work/manifests.h"
#include "commands/work/targets.h"
#include "commands/work/waiting.h"
#include "commands/work/work.h"
#include "core/api/kinds.h"
#include "core/work/names.h"

namespace fleetadm::commands {
namespace {

struct Options {
  std::vector<std::string> files;
  TargetOptions targets;
  bool overwrite = false;
  std::string wait;  // "", "applied", "available"
  Duration timeout = std::chrono::minutes(2);
};

/// What one object has become.
struct Written {
  Json object;
  std::string outcome;  // "created", "configured", "unchanged"
};

Error exists(const std::string& what) {
  return fail(Category::kConflict, what + " exists already", "change it with fleetadm work apply, or with --overwrite").value();
}

/// Replaces the manifests, and leaves the rest of the spec to whoever set it.
Result<Written> write(const kube::Client& hub, const kube::Resource& resource, const Json& wanted, std::string_view manifests_of,
                      bool overwrite, const std::string& what, const std::function<Status(Json&)>& check) {
  const std::string ns = namespace_of(wanted);
  const std::string name = name_of(wanted);
  FLEETADM_TRY(std::optional<Json> existing, hub.find(resource, ns, name));
  if (!existing) {
    Result<Json> created = hub.create(resource, ns, wanted);
    if (created) return Written{std::move(*created), "created"};
    if (created.error().reason != "AlreadyExists") return tl::unexpected(created.error());
    FLEETADM_TRY(existing, hub.find(resource, ns, name));
  }
  if (!overwrite) return tl::unexpected(exists(what));
  if (!existing) return fail(Category::kConflict, what + " came and went while it was written", "try again");
  if (is_deleting(*existing)) return fail(Category::kConflict, what + " is being deleted", "wait until it is gone");
  const std::string before = resource_version_of(*existing);
  const auto change = [&](Json& object) -> Status {
    FLEETADM_CHECK(check(object));
    const std::string path(manifests_of);
    Json& spec = path.empty() ? at_or_make(object, {"spec"}) : at_or_make(object, {"spec", path});
    const Json& from = path.empty() ? object_at(wanted, {"spec"}) : object_at(wanted, {"spec", path});
    at_or_make(spec, {"workload", "manifests"}) = list_at(from, {"workload", "manifests"});
    return {};
  };
  FLEETADM_TRY(Json after, hub.modify(resource, ns, name, change));
  const bool changed = resource_version_of(after) != before;
  return Written{std::move(after), changed ? "configured" : "unchanged"};
}

Json work_object(const std::string& name, const std::string& cluster, const Json& manifests) {
  Json work = Json::object({{"apiVersion", work::kWorkApiVersion}, {"kind", "ManifestWork"}});
  work["metadata"] = Json::object({{"name", name}, {"namespace", cluster}});
  at_or_make(work, {"spec", "workload", "manifests"}) = manifests;
  return work;
}

Json set_object(const std::string& name, const PlacementRef& placement, const Json& manifests) {
  Json set = Json::object({{"apiVersion", "work.open-cluster-management.io/v1alpha1"}, {"kind", "ManifestWorkReplicaSet"}});
  set["metadata"] = Json::object({{"name", name}, {"namespace", placement.ns}});
  at_or_make(set, {"spec", "manifestWorkTemplate", "workload", "manifests"}) = manifests;
  at_or_make(set, {"spec", "placementRefs"}) = Json::array({Json::object({{"name", placement.name}})});
  return set;
}

/// A work that a set has made is changed through the set.
Status not_of_a_set(const Json& work) {
  const std::string owner = label_of(work, work::kReplicaSetLabel);
  if (owner.empty()) return {};
  const std::size_t dot = owner.find('.');
  return fail(Category::kUsage,
              "work " + name_of(work) + " of cluster " + namespace_of(work) + " belongs to ManifestWorkReplicaSet " +
                  owner.substr(0, dot) + "/" + (dot == std::string::npos ? "" : owner.substr(dot + 1)),
              "change the set: use --placement");
}

Result<Report> to_clusters(Context& context, const kube::Client& hub, const Options& options, const std::string& name,
                           const Json& manifests, bool overwrite) {
  FLEETADM_TRY(ClusterTargets targets, cluster_targets(hub, options.targets));
  Report report;
  report.failures = std::move(targets.missing);
  std::vector<Json> written;
  std::vector<std::string> clusters;
  for (const std::string& cluster : targets.clusters) {
    if (context.stop().stop_requested())
      return fail(Category::kCancelled, "stopped; " + std::to_string(written.size()) + " clusters were written");
    const std::string what = "work " + name + " of cluster " + cluster;
    Result<Written> one =
        write(hub, api::manifest_works(), work_object(name, cluster, manifests), "", overwrite, what, not_of_a_set);
    if (!one) {
      report.failures.push_back(on_hub(one.error()).with_cluster(cluster));
      continue;
    }
    report.lines.push_back("work " + name + " " + one->outcome + " for cluster " + cluster);
    report.names.push_back(qualified_name(api::manifest_works(), name));
    written.push_back(std::move(one->object));
    clusters.push_back(cluster);
  }
  if (written.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  if (!options.wait.empty() && context.global().dry_run == kube::DryRun::kNone && !clusters.empty()) {
    for (Error& late : wait_for_works(context, hub, name, clusters, options.wait, options.timeout))
      report.failures.push_back(std::move(late));
  }
  report.data = list_of(std::move(written));
  return report;
}

Status placement_exists(const kube::Client& hub, const PlacementRef& ref) {
  Result<std::optional<Json>> placement = hub.find(api::placements(), ref.ns, ref.name);
  if (!placement) return tl::unexpected(on_hub(placement.error()));
  if (*placement) return {};
  return fail(Category::kNotFound, "placement \"" + ref.name + "\" is not in namespace \"" + ref.ns + "\"",
              "fleetadm placement create makes one; fleetadm get placements -A lists them");
}

Result<Report> to_placement(Context& context, const kube::Client& hub, const Options& options, const std::string& name,
                            const Json& manifests, bool overwrite) {
  FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.targets.placement));
  FLEETADM_CHECK(placement_exists(hub, ref));
  if (const std::string label = ref.ns + "." + name; label.size() > 63) {
    return fail(Category::kUsage, "\"" + label + "\" is " + std::to_string(label.size()) + " characters long",
                "namespace and name of a work for a placement may have 62 characters together");
  }
  const auto same_placement = [&](Json& set) -> Status {
    const Json& refs = list_at(set, {"spec", "placementRefs"});
    const bool known = std::any_of(refs.begin(), refs.end(), [&](const Json& one) { return str(one, {"name"}) == ref.name; });
    if (!known) at_or_make(set, {"spec", "placementRefs"}) = Json::array({Json::object({{"name", ref.name}})});
    return {};
  };
  const std::string what = "ManifestWorkReplicaSet " + ref.ns + "/" + name;
  Result<Written> written = write(hub, api::manifest_work_replica_sets(), set_object(name, ref, manifests),
                                  "manifestWorkTemplate", overwrite, what, same_placement);
  if (!written) return tl::unexpected(on_hub(written.error()));
  Report report;
  report.lines.push_back("work " + name + " " + written->outcome + " for placement " + ref.ns + "/" + ref.name);
  report.names.push_back(qualified_name(api::manifest_work_replica_sets(), name));
  report.data = std::move(written->object);
  if (context.global().dry_run != kube::DryRun::kNone) return report;
  if (!options.wait.empty()) {
    report.failures = wait_for_set(context, hub, ref, name, options.wait, options.timeout);
  } else {
    report.notes.push_back("The hub makes the works for the clusters that the placement selects: fleetadm work get " + name);
  }
  return report;
}

Result<Report> run(Context& context, const Options& options, const std::string& name, bool overwrite) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  FLEETADM_CHECK(check_manifests(loaded));
  FLEETADM_TRY(const kube::Client hub, context.client());
  const Json manifests = manifest_list(loaded);
  if (!options.targets.placement.empty()) return to_placement(context, hub, options, name, manifests, overwrite);
  return to_clusters(context, hub, options, name, manifests, overwrite);
}

void bind(FlagSet& flags, Options& options) {
  Flag& files = flags.texts(&options.files, "filename", "file or folder with manifests, or - for stdin; may be repeated", 'f');
  files.value_name = "FILE";
  files.required = true;
  files.complete = Complete::kFiles;
  bind_targets(flags, options.targets);
  Flag& wait = flags.choice(&options.wait, "wait", {"applied", "available"}, "wait until the agents report it");
  wait.arity = Arity::kOptionalValue;
  wait.no_value = "available";
  flags.duration(&options.timeout, "timeout", "how long --wait waits");
}

Status validate(const Options& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_work_name(args.empty() ? std::string{} : args.front()));
  if (options.files.empty()) return fail(Category::kUsage, "no manifests are named", "use -f FILE, -f FOLDER or -f -");
  return validate_targets(options.targets);
}

}  // namespace

void register_work_create(Registry& registry) {
  Command create;
  create.path = "work create";
  create.group = "Work";
  create.summary = "Distribute manifests to clusters";
  create.description =
      "With --clusters or -l a ManifestWork is made for each of these clusters. With --placement a ManifestWorkReplicaSet is "
      "made beside "
      "the placement, and the hub keeps a work on every cluster that the placement selects, now and later.";
  create.args = {"NAME", 1, 1};
  create.aliases = {"create work"};
  create.examples = {{"To two clusters", "fleetadm work create web -f web.yaml --clusters c1,c2"},
                     {"To what a placement selects, and wait until it runs",
                      "fleetadm work create web -f manifests/ --placement apps/eu --wait"},
                     {"From another program", "kustomize build . | fleetadm work create web -f - -l env=dev"}};
  create.make = invocation<Options>(
      [](FlagSet& flags, Options& options) {
        bind(flags, options);
        flags.boolean(&options.overwrite, "overwrite", "replace the manifests of a work that exists");
      },
      validate,
      [](Context& context, const Options& options, const std::vector<std::string>& args) {
        return run(context, options, args.front(), options.overwrite);
      });
  registry.add(std::move(create));

  Command apply;
  apply.path = "work apply";
  apply.group = "Work";
  apply.summary = "Distribute manifests, or change what was distributed";
  apply.description = "As work create, but a work that exists gets these manifests. Running it again changes nothing.";
  apply.args = {"NAME", 1, 1};
  apply.args.complete = Complete::kWorks;
  apply.examples = {{"A new version", "fleetadm work apply web -f web.yaml --placement apps/eu --wait"}};
  apply.make =
      invocation<Options>(bind, validate, [](Context& context, const Options& options, const std::vector<std::string>& args) {
        return run(context, options, args.front(), true);
      });
  registry.add(std::move(apply));
}

}  // namespace fleetadm::commands
