// rollout start: new manifests for what a placement selects, begun by a strategy.
#include <algorithm>
#include <set>

#include "commands/rollout/rollout.h"
#include "commands/rollout/view.h"
#include "commands/work/manifests.h"
#include "commands/work/targets.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string placement;
  std::string strategy;
  std::string max_concurrency;
  std::string max_failures;
  std::string progress_deadline;
  Duration min_success_time = Duration(-1);
  std::vector<std::string> mandatory;
  bool allow_removals = false;
  std::int64_t removal_share = 20;
  std::int64_t removal_objects = 100;
  bool wait = false;
  Duration timeout = Duration::zero();

  bool any_strategy() const {
    return !strategy.empty() || !max_concurrency.empty() || !max_failures.empty() || !progress_deadline.empty() ||
           min_success_time >= Duration::zero() || !mandatory.empty();
  }
};

/// A count or a percentage, as the field takes it.
Result<Json> threshold(const std::string& flag, const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string digits = percent ? text.substr(0, text.size() - 1) : text;
  const bool number = !digits.empty() && digits.size() <= 9 && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!number || (percent && std::stoi(digits) > 100)) {
    return fail(Category::kUsage, "--" + flag + " " + text + " is neither a count nor a percentage", "use 3 or 25%");
  }
  return percent ? Json(text) : Json(std::stoi(digits));
}

Result<Json> strategy_of(const Options& options) {
  const std::string kind = options.strategy.empty() ? "progressive" : options.strategy;
  const std::string type = kind == "all" ? "All" : kind == "per-group" ? "ProgressivePerGroup" : "Progressive";
  const std::string member = kind == "all" ? "all" : kind == "per-group" ? "progressivePerGroup" : "progressive";
  Json body = Json::object();
  if (!options.progress_deadline.empty()) body["progressDeadline"] = options.progress_deadline;
  if (options.min_success_time >= Duration::zero()) body["minSuccessTime"] = format_duration(options.min_success_time);
  if (!options.max_failures.empty()) {
    FLEETADM_TRY(body["maxFailures"], threshold("max-failures", options.max_failures));
  }
  if (!options.max_concurrency.empty()) {
    FLEETADM_TRY(body["maxConcurrency"], threshold("max-concurrency", options.max_concurrency));
  }
  for (const std::string& group : options.mandatory) body["mandatoryDecisionGroups"].push_back({{"groupName", group}});
  const bool more = options.min_success_time >= Duration::zero() || !options.max_failures.empty() || !options.mandatory.empty();
  if ((kind == "all" && more) || (kind != "progressive" && !options.max_concurrency.empty())) {
    return fail(Category::kUsage, "a strategy flag does not belong to --strategy " + kind,
                "--max-concurrency is for progressive; all takes --progress-deadline only");
  }
  Json strategy{{"type", type}};
  strategy[member] = std::move(body);
  if (const auto parsed = rollout::parse_strategy(strategy); !parsed) {
    return fail(Category::kUsage, parsed.error().message, "deadlines are like 90s, 10m or 1h30m");
  }
  return strategy;
}

/// A set of this kind that has nothing yet.
Json empty_set(const RolloutName& name) {
  return Json{{"apiVersion", api::manifest_work_replica_sets().api_version()},
              {"kind", api::manifest_work_replica_sets().kind},
              {"metadata", {{"name", name.name}, {"namespace", name.ns}}},
              {"spec", Json::object()}};
}

/// What the set is to be: manifests, placement and strategy as they were given, the rest as it is.
Status edit(Json& set, const Json& manifests, const std::string& placement, const std::optional<Json>& strategy,
            const std::string& who) {
  at_or_make(set, {"spec", "manifestWorkTemplate", "workload", "manifests"}) = manifests;
  Json& refs = at_or_make(set, {"spec", "placementRefs"});
  if (!refs.is_array()) refs = Json::array();
  if (!placement.empty() && (refs.size() != 1 || str(refs[0], {"name"}) != placement)) {
    Json kept = refs.empty() ? Json::object() : refs[0];
    kept["name"] = placement;
    refs = Json::array({std::move(kept)});
  }
  if (refs.empty()) return fail(Category::kUsage, "--placement is missing", "a new rollout needs to know its clusters");
  for (Json& ref : refs) {
    if (strategy) ref["rolloutStrategy"] = *strategy;
  }
  if (!who.empty()) {
    at_or_make(set, {"metadata", "annotations", work::kChangedByAnnotation}) =
        work::work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"})) + " " + who;
  }
  return {};
}

std::set<std::string> identities(const Json& manifests) {
  std::set<std::string> names;
  for (const Json& one : manifests) names.insert(str(one, {"kind"}) + "/" + namespace_of(one) + "/" + name_of(one));
  return names;
}

/// Refuses what would take works from many clusters, or delete many objects.
Status guard(const kube::Client& hub, const RolloutView& now, const Json& wanted, const Options& options) {
  if (options.allow_removals || now.works.empty()) return {};
  std::set<std::string> selected;
  for (const Json& ref : list_at(wanted, {"spec", "placementRefs"})) {
    FLEETADM_TRY(const std::vector<std::string> clusters,
                 decided_clusters(hub, PlacementRef{namespace_of(wanted), str(ref, {"name"})}));
    selected.insert(clusters.begin(), clusters.end());
  }
  const Json& before = list_at(now.set, {"spec", "manifestWorkTemplate", "workload", "manifests"});
  const std::set<std::string> kept = identities(list_at(wanted, {"spec", "manifestWorkTemplate", "workload", "manifests"}));
  const std::set<std::string> had = identities(before);
  const auto dropped = static_cast<std::int64_t>(
      std::count_if(had.begin(), had.end(), [&](const std::string& one) { return !kept.contains(one); }));
  std::int64_t leaving = 0;
  for (const work::OwnedWork& work : now.works) leaving += selected.contains(work.ns) ? 0 : 1;
  const auto all = static_cast<std::int64_t>(now.works.size());
  const std::int64_t objects = leaving * static_cast<std::int64_t>(had.size()) + (all - leaving) * dropped;
  const bool too_many = leaving * 100 > all * options.removal_share;
  if (!too_many && objects <= options.removal_objects) return {};
  return fail(Category::kConflict,
              "this would remove the work from " + std::to_string(leaving) + " of " + std::to_string(all) +
                  " clusters, and delete " + std::to_string(objects) + (objects == 1 ? " object" : " objects"),
              "if that is meant, add --allow-removals");
}

Result<Report> run(Context& context, const Options& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  FLEETADM_CHECK(check_manifests(loaded));
  FLEETADM_TRY(RolloutName name, rollout_name(context, args.front()));
  std::string placement;
  if (!options.placement.empty()) {
    FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.placement));
    if (args.front().find('/') == std::string::npos) name.ns = ref.ns;
    if (ref.ns != name.ns) return fail(Category::kUsage, "a rollout and its placement are in one namespace");
    placement = ref.name;
  }
  if (name.ns.size() + 1 + name.name.size() > 63) {
    return fail(Category::kUsage, "namespace and name of a rollout may have 62 characters together");
  }
  std::optional<Json> strategy;
  if (options.any_strategy()) {
    FLEETADM_TRY(strategy, strategy_of(options));
  }
  FLEETADM_TRY(const kube::Client hub, context.client());
  if (!placement.empty()) {
    FLEETADM_TRY(const std::optional<Json> known, hub.find(api::placements(), name.ns, placement));
    if (!known) {
      return fail(Category::kNotFound, "placement \"" + placement + "\" is not in namespace \"" + name.ns + "\"",
                  "fleetadm placement create makes one; fleetadm get placements -A lists them");
    }
  }
  const Json manifests = manifest_list(loaded);
  const std::string who = caller(hub);
  FLEETADM_TRY(const std::optional<Json> before, hub.find(api::manifest_work_replica_sets(), name.ns, name.name));
  Report report;
  report.names.push_back("manifestworkreplicaset.work.open-cluster-management.io/" + name.name);
  if (!before) {
    Json set = empty_set(name);
    FLEETADM_CHECK(edit(set, manifests, placement, strategy, who));
    FLEETADM_TRY(report.data, hub.create(api::manifest_work_replica_sets(), name.ns, set));
    report.lines.push_back("rollout " + name.name + " started");
  } else {
    if (is_deleting(*before))
      return fail(Category::kConflict, "rollout " + name.name + " is being deleted", "wait until it is gone");
    FLEETADM_TRY(const RolloutView view, read_rollout(hub, name, context.clock().now()));
    Json wanted = view.set;
    FLEETADM_CHECK(edit(wanted, manifests, placement, strategy, {}));
    FLEETADM_CHECK(guard(hub, view, wanted, options));
    const bool same = object_at(wanted, {"spec"}) == object_at(view.set, {"spec"});
    if (same) {
      report.data = view.set;
      report.lines.push_back("rollout " + name.name + " unchanged");
    } else {
      FLEETADM_TRY(report.data, hub.modify(api::manifest_work_replica_sets(), name.ns, name.name,
                                           [&](Json& set) -> Status { return edit(set, manifests, placement, strategy, who); }));
      report.lines.push_back("rollout " + name.name + " started: the manifests of before are kept as a revision");
    }
    if (view.plan.paused) report.notes.push_back("It is paused: fleetadm rollout resume " + name.name + " lets it begin");
  }
  if (context.global().dry_run != kube::DryRun::kNone || !options.wait) {
    report.notes.push_back("fleetadm rollout status " + name.name + " -n " + name.ns + " -w follows it");
    return report;
  }
  return watch_rollout(context, hub, name, options.timeout);
}

void bind(FlagSet& flags, Options& options) {
  Flag& files = flags.texts(&options.files, "filename", "file or folder with manifests, or - for stdin; may be repeated", 'f');
  files.value_name = "FILE";
  files.required = true;
  files.complete = Complete::kFiles;
  Flag& placement = flags.text(&options.placement, "placement", "the placement that selects the clusters");
  placement.value_name = "[NAMESPACE/]NAME";
  placement.complete = Complete::kPlacements;
  flags.choice(&options.strategy, "strategy", {"all", "progressive", "per-group"},
               "how clusters follow each other; progressive where another flag of a strategy is given");
  flags.text(&options.max_concurrency, "max-concurrency", "clusters at a time").value_name = "COUNT|PERCENT";
  flags.text(&options.max_failures, "max-failures", "failed clusters before it stops").value_name = "COUNT|PERCENT";
  flags.duration(&options.min_success_time, "min-success-time", "how long a cluster has to stay good before the next follows");
  flags.text(&options.progress_deadline, "progress-deadline", "time for one cluster before it counts as timed out").value_name =
      "DURATION";
  Flag& first = flags.comma_texts(&options.mandatory, "first", "decision groups that come first and may not fail");
  first.value_name = "GROUP";
  flags.boolean(&options.allow_removals, "allow-removals",
                "also where it takes works from many clusters, or deletes many objects");
  flags.integer(&options.removal_share, "removal-share", "percent of clusters that is many").default_text = "20";
  flags.integer(&options.removal_objects, "removal-objects", "objects that are many").default_text = "100";
  flags.boolean(&options.wait, "wait", "wait for the end, as rollout status -w does");
  flags.duration(&options.timeout, "timeout", "how long --wait waits").default_text = "no limit";
}

Status validate(const Options& options, const std::vector<std::string>&) {
  if (options.files.empty()) return fail(Category::kUsage, "no manifests are named", "use -f FILE, -f FOLDER or -f -");
  if (options.removal_share < 0 || options.removal_share > 100) return fail(Category::kUsage, "--removal-share is not in 0…100");
  return {};
}

}  // namespace

void register_rollout_start(Registry& registry) {
  Command command;
  command.path = "rollout start";
  command.group = "Work";
  command.summary = "Roll manifests out to what a placement selects, by a strategy";
  command.description =
      "Makes a ManifestWorkReplicaSet, or gives an existing one these manifests (and, where they are given, the placement and "
      "the "
      "strategy). The hub does the rest: it goes on if this command ends. See rollout plan for what would happen.";
  command.args = {"NAME", 1, 1, false, Complete::kWorks};
  command.examples = {{"A canary group first, then a quarter at a time",
                       "fleetadm rollout start web -f web.yaml --placement apps/eu --first canary --max-concurrency 25%"},
                      {"A new version, and wait", "fleetadm rollout start web -n apps -f web.yaml --wait --timeout 30m"}};
  command.make = invocation<Options>(bind, validate, run);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
