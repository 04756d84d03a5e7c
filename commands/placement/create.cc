// placement create and placement apply: the same flags; create leaves an existing placement with another spec alone.
#include <algorithm>

#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/references.h"
#include "commands/framework/write_report.h"
#include "commands/placement/placement.h"
#include "commands/placement/spec.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/placement/engine/object_set.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

struct CreateOptions {
  SpecFlags spec;
  std::string wait = "none";
  Duration timeout = kWaitTimeout;
  bool force_conflicts = false;
  bool allow_missing = false;
  GuardOptions guard;
};

void bind_wait(FlagSet& flags, CreateOptions& options) {
  wait_flag(flags, &options.wait, {"satisfied"}, "satisfied", "Wait until enough clusters are selected");
  timeout_flag(flags, &options.timeout, "How long to wait");
}

Status validate_create(const CreateOptions& options, const std::vector<std::string>& args) {
  if (!options.spec.file.empty() && options.spec.any()) {
    return fail(Category::kUsage, "--filename cannot be combined with flags that set fields of the spec");
  }
  if (args.empty() && options.spec.file.empty()) {
    return fail(Category::kUsage, "missing argument: NAME", "give a name, or a file with a Placement that has one (-f)");
  }
  return {};
}

Status check_placement_name(const std::string& name) {
  FLEETADM_CHECK(check_name("placement", name));
  if (name.size() > 63) {
    return fail(Category::kUsage, "placement \"" + name + "\" has a name longer than 63 characters",
                "the name becomes a label of its decisions; use a shorter one");
  }
  return {};
}

// The argument or the file names the placement; where both do, they must not differ.
Result<Json> wanted_placement(Context& context, const CreateOptions& options, const std::vector<std::string>& args) {
  Json wanted = Json::object();
  if (options.spec.file.empty()) {
    FLEETADM_TRY(Json spec, spec_of(options.spec));
    wanted["spec"] = std::move(spec);
  } else {
    FLEETADM_TRY(const std::string text, read_file_or_stdin(context, options.spec.file));
    FLEETADM_TRY(wanted, placement_of_text(text));
  }
  const std::string in_file = name_of(wanted);
  if (args.empty() && in_file.empty()) {
    return fail(Category::kUsage, "the placement has no name", "give NAME, or metadata.name in the file");
  }
  if (!args.empty() && !in_file.empty() && args.front() != in_file) {
    return fail(Category::kUsage, "the file names the placement \"" + in_file + "\", the argument \"" + args.front() + "\"",
                "omit one of the two");
  }
  const std::string name = args.empty() ? in_file : args.front();
  FLEETADM_CHECK(check_placement_name(name));
  const std::string given = context.global().config.ns;
  std::string ns = namespace_of(wanted);
  if (!ns.empty() && !given.empty() && ns != given) {
    return fail(Category::kUsage, "the file is for namespace \"" + ns + "\", --namespace for \"" + given + "\"",
                "omit one of the two");
  }
  if (ns.empty()) {
    FLEETADM_TRY(ns, context.ns());
  }
  wanted["apiVersion"] = api::placements().api_version();
  wanted["kind"] = api::placements().kind;
  at_or_make(wanted, {"metadata", "name"}) = name;
  at_or_make(wanted, {"metadata", "namespace"}) = ns;
  return wanted;
}

// What would keep the placement from choosing anything, told to people.
std::vector<std::string> advice(const kube::Client& hub, const Json& placement) {
  std::vector<std::string> notes;
  const std::string ns = namespace_of(placement);
  const auto bindings = hub.list(api::managed_cluster_set_bindings(), ns);
  if (!bindings) return notes;  // advice is not worth failing for
  std::vector<std::string> bound;
  for (const Json& binding : list_at(*bindings, {"items"})) bound.push_back(name_of(binding));
  for (const std::string& set : string_list_at(placement, {"spec", "clusterSets"})) {
    if (std::find(bound.begin(), bound.end(), set) == bound.end()) {
      notes.push_back("Cluster set \"" + set + "\" is not bound to namespace \"" + ns +
                      "\"; bind it with: fleetadm clusterset bind " + set + " -n " + ns);
    }
  }
  if (bound.empty() && notes.empty()) {
    notes.push_back("No cluster set is bound to namespace \"" + ns +
                    "\", so no clusters can be selected; bind one with: fleetadm clusterset bind SET -n " + ns);
  }
  return notes;
}

Result<Json> wait_satisfied(Context& context, const kube::Client& hub, const Json& placement, Duration timeout) {
  std::string last = "the placement has no conditions yet; check that the hub controllers are running";
  context.progress().begin("Waiting for placement " + name_of(placement) + " to be satisfied");
  const auto satisfied = [&](const std::optional<Json>& object) -> Result<bool> {
    if (!object) return fail(Category::kNotFound, "placement \"" + name_of(placement) + "\" was deleted while waiting for it");
    if (const Json* wrong = controller::find_condition(*object, "PlacementMisconfigured");
        wrong != nullptr && str(*wrong, {"status"}) == "True") {
      return fail(Category::kInvalid, "the placement is misconfigured: " + str(*wrong, {"message"}));
    }
    const Json* condition = controller::find_condition(*object, "PlacementSatisfied");
    if (condition == nullptr) return false;
    last = str(*condition, {"reason"}) + ": " + str(*condition, {"message"});
    context.progress().note(last);
    return str(*condition, {"status"}) == "True";
  };
  auto waited =
      kube::wait_for(hub, api::placements(), namespace_of(placement), name_of(placement), satisfied, timeout, context.stop());
  if (!waited) {
    context.progress().failed(last);
    Error error = waited.error();
    if (error.category == Category::kTimeout)
      error.message = "placement \"" + name_of(placement) + "\" is not satisfied after " + format_duration(timeout) + ": " + last;
    return tl::unexpected(std::move(error));
  }
  context.progress().done();
  return std::move(**waited);
}

// What people write of a placement.
std::vector<Json> parts_of(const Json& placement) {
  return {object_at(placement, {"spec"}), object_at(placement, {"metadata", "labels"}),
          object_at(placement, {"metadata", "annotations"})};
}

bool holds_all(const Json& stored, const Json& asked) {
  const std::vector<Json> there = parts_of(stored);
  const std::vector<Json> wanted = parts_of(asked);
  return std::equal(there.begin(), there.end(), wanted.begin(), [](const Json& a, const Json& b) { return holds(a, b); });
}

/// Server-side apply, with errors that say what to do.
Result<Json> apply_placement(const kube::Client& hub, const Json& wanted, bool force) {
  kube::WriteOptions how;
  how.force = force;
  how.field_validation = "Strict";
  auto applied = hub.apply(api::placements(), wanted, how);
  if (!applied && applied.error().category == Category::kConflict) {
    return tl::unexpected(
        applied.error().with_hint("another manager owns these fields; use --force-conflicts to take ownership"));
  }
  if (!applied && applied.error().category == Category::kNotFound) {
    return tl::unexpected(
        applied.error().with_hint("create the namespace first: kubectl create namespace " + namespace_of(wanted)));
  }
  if (!applied && applied.error().message.starts_with("failed to create typed")) {
    return tl::unexpected(
        applied.error().with_hint("a field has a wrong name or type; compare with kubectl explain placement.spec"));
  }
  return applied;
}

/// What the server would make of `wanted`: only it knows which fields are others'.
Result<Json> applied_on_trial(const kube::Client& hub, const Json& wanted, bool force) {
  if (hub.gate().dry_run != kube::DryRun::kNone) return apply_placement(hub, wanted, force);
  auto gate = std::make_shared<kube::WriteGate>(hub.gate());
  gate->dry_run = kube::DryRun::kServer;
  gate->before = nullptr;
  gate->after = nullptr;
  return apply_placement(kube::Client(hub.transport(), std::move(gate), hub.cluster_name()), wanted, force);
}

/// The guard for a placement that gets another spec, or comes to be: sets may refer to it already.
Result<std::optional<Report>> guard_placement(Context& context, const kube::Client& hub, const CreateOptions& options,
                                              const Json& wanted, const std::optional<Json>& existing,
                                              std::vector<std::string>& notes) {
  if (options.guard.allow && !options.guard.plan) return std::nullopt;
  FLEETADM_TRY(Json after, applied_on_trial(hub, wanted, options.force_conflicts));
  if (existing && !options.guard.plan && parts_of(after) == parts_of(*existing)) return std::nullopt;
  after["apiVersion"] = api::placements().api_version();
  after["kind"] = api::placements().kind;
  placement::apply_placement_defaults(after);
  ProposedChange change;
  change.what = (existing ? "changing placement " : "creating placement ") + name_of(wanted);
  change.ns = namespace_of(wanted);
  change.make = [&](placement::Objects& objects) { objects.put(after); };
  return guard_change(context, hub, options.guard, change, notes);
}

Result<Report> write(Context& context, const CreateOptions& options, const std::vector<std::string>& args, bool replace) {
  FLEETADM_TRY(const Json wanted, wanted_placement(context, options, args));
  FLEETADM_TRY(const auto hub, context.client());
  const std::string name = name_of(wanted);
  const std::string ns = namespace_of(wanted);
  FLEETADM_TRY(const auto existing, on_hub(hub.find(api::placements(), ns, name)));
  std::string what = existing ? "configured" : "created";
  std::vector<std::string> notes;
  Json stored;
  // The defaults of the server are in what exists; whatever else was asked before must not stay in what create answers for.
  if (existing && !replace) {
    if (!holds_all(*existing, wanted)) {
      return fail(Category::kConflict,
                  "placement \"" + name + "\" already exists in namespace \"" + ns + "\" with a different spec",
                  "change it with: fleetadm placement apply " + name + " -n " + ns + " ...");
    }
    stored = *existing;
    what = "unchanged";
  } else {
    if (!options.allow_missing) FLEETADM_CHECK(check_cluster_sets(hub, string_list_at(wanted, {"spec", "clusterSets"}), notes));
    FLEETADM_TRY(auto plan, guard_placement(context, hub, options, wanted, existing, notes));
    if (plan) return std::move(*plan);
    FLEETADM_TRY(Json written, apply_placement(hub, wanted, options.force_conflicts));
    // A client's dry run knows no defaults of the server: it can only say whether what is asked is there already.
    const auto same = [&] {
      if (context.global().dry_run == kube::DryRun::kClient) return holds_all(*existing, wanted);
      return parts_of(written) == parts_of(*existing);
    };
    if (existing && same()) what = "unchanged";
    FLEETADM_TRY(stored, read_back(context, hub, api::placements(), ns, name, wanted, std::move(written)));
  }
  if (!is_dry(context) && !context.global().quiet) {
    for (std::string& note : advice(hub, stored)) notes.push_back(std::move(note));
  }
  if (options.wait == "satisfied" && !is_dry(context)) {
    FLEETADM_TRY(stored, wait_satisfied(context, hub, stored, options.timeout));
    what += ", " + pluralize(static_cast<std::uint64_t>(num(stored, {"status", "numberOfSelectedClusters"})), "cluster") +
            " selected";
  }
  Report report = written_report(context, api::placements(), std::move(stored), what);
  report.notes = notes;
  return report;
}

Command command_of(bool replace) {
  Command command;
  command.group = "Placement";
  command.args = {"[NAME]", 0, 1, false, replace ? Complete::kPlacements : Complete::kNone};
  command.make = invocation<CreateOptions>(
      [replace](FlagSet& flags, CreateOptions& options) {
        bind_spec(flags, options.spec);
        bind_wait(flags, options);
        flags.boolean(&options.allow_missing, "allow-missing", "Accept cluster sets that do not exist yet");
        bind_guard(flags, options.guard);
        if (replace)
          flags.boolean(&options.force_conflicts, "force-conflicts", "Take ownership of fields set by another manager");
      },
      validate_create,
      [replace](Context& context, const CreateOptions& options, const std::vector<std::string>& args) {
        return write(context, options, args, replace);
      });
  return command;
}

}  // namespace

void register_placement_create(Registry& registry) {
  Command command = command_of(false);
  command.path = "placement create";
  command.aliases = {"create placement"};
  command.summary = "Select clusters by rules that the hub keeps applying";
  command.description =
      "Creates a Placement in the namespace. The hub's scheduler selects from the clusters in the sets "
      "that are bound to the namespace and keeps the selection up to date. "
      "All terms of one --selector must match; several --selector are alternatives. "
      "An existing placement with the same spec is left unchanged; with a different spec it is an error, "
      "see \"fleetadm placement apply\".";
  command.description += kGuardText;
  command.examples = {{"The two production clusters with the most allocatable memory",
                       "fleetadm placement create web -n apps -k 2 -l env=prod --prioritizer ResourceAllocatableMemory=2 "
                       "--wait"},
                      {"Every cluster in Europe that is gold or silver",
                       "fleetadm placement create eu -n apps -l 'region=eu,tier in (gold,silver)'"},
                      {"Clusters that serve an API",
                       "fleetadm placement create routes -n apps --requires-api gateway.networking.k8s.io/v1/HTTPRoute"},
                      {"Stay on an unreachable cluster for ten minutes",
                       "fleetadm placement create web -n apps --toleration cluster.open-cluster-management.io/unreachable::10m"},
                      {"From a file", "fleetadm placement create web -n apps -f placement.yaml"}};
  registry.add(std::move(command));
}

void register_placement_apply(Registry& registry) {
  Command command = command_of(true);
  command.path = "placement apply";
  command.summary = "Create a placement or update its spec";
  command.description =
      "Server-side apply of the whole spec: fields set by an earlier apply and missing from this one are "
      "removed, fields set by others are left alone. A field that someone else set to a different value "
      "is a conflict. A file with a complete Placement provides its name, and its labels and annotations "
      "are applied as well.";
  command.description += kGuardText;
  command.examples = {
      {"Three clusters instead of two", "fleetadm placement apply web -n apps -k 3 -l env=prod"},
      {"From a file", "fleetadm placement apply -f web.yaml"},
      {"See what the server would store", "fleetadm placement apply web -n apps -f web.yaml --dry-run=server -o yaml"}};
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
