// placement simulate: what the scheduler would decide, without a hub or before a change.
#include "core/placement/engine/simulate.h"

#include <algorithm>
#include <map>

#include "commands/framework/grammar.h"
#include "commands/framework/inputs.h"
#include "commands/framework/scenarios.h"
#include "commands/framework/suggest.h"
#include "commands/framework/write_report.h"
#include "commands/placement/placement.h"
#include "commands/placement/what_if.h"
#include "core/api/kinds.h"
#include "core/placement/engine/cel_evaluator.h"
#include "core/placement/engine/scenario.h"

namespace fleetadm::commands {
namespace {

using placement::ObjectKind;
using placement::Objects;
using placement::Simulated;

struct SimulateOptions {
  InputFlags inputs;
  std::vector<std::string> what_if;
  bool all_namespaces = false;
  std::string scenarios;
};

Status validate_simulate(const SimulateOptions& options, const std::vector<std::string>& args) {
  const bool others = !args.empty() || !options.inputs.files.empty() || !options.inputs.now.empty() || !options.what_if.empty() ||
                      options.all_namespaces;
  if (!options.scenarios.empty() && others) {
    return fail(Category::kUsage, "--scenarios cannot be combined with names or other flags");
  }
  if (options.all_namespaces && !args.empty()) {
    return fail(Category::kUsage, "--all-namespaces cannot be combined with a name");
  }
  return {};
}

/// The placements that were asked for, by namespace and name.
Result<std::vector<Objects::Key>> wanted(const Context& context, const SimulateOptions& options,
                                         const std::vector<std::string>& names, const std::string& ns, const Objects& objects) {
  // Files speak for themselves: without -n, all of their namespaces are meant.
  const bool any_namespace = options.all_namespaces || (!options.inputs.files.empty() && context.global().config.ns.empty());
  const Objects::Map& placements = objects.of(ObjectKind::kPlacement);
  std::vector<Objects::Key> keys;
  for (const auto& [key, object] : placements) {
    if (!any_namespace && key.first != ns) continue;
    if (names.empty() || std::find(names.begin(), names.end(), key.second) != names.end()) keys.push_back(key);
  }
  for (const std::string& name : names) {
    const bool found = std::any_of(keys.begin(), keys.end(), [&](const Objects::Key& key) { return key.second == name; });
    if (found) continue;
    std::vector<std::string> known;
    for (const auto& [key, object] : placements) {
      if (any_namespace || key.first == ns) known.push_back(key.second);
    }
    return fail(Category::kNotFound,
                "there is no placement \"" + name + "\"" + (any_namespace ? "" : " in namespace \"" + ns + "\""),
                did_you_mean(name, known));
  }
  if (keys.empty() && !options.inputs.files.empty()) {
    return fail(Category::kUsage, "no placement found in the -f files" + (any_namespace ? "" : " for namespace " + ns),
                "add a Placement to the files");
  }
  return keys;
}

Json conditions_json(const placement::Pass& pass) {
  Json list = Json::array();
  for (const auto& one : pass.conditions) {
    list.push_back({{"type", one.type}, {"status", one.status}, {"reason", one.reason}, {"message", one.message}});
  }
  return list;
}

Json groups_json(const placement::Pass& pass) {
  std::map<int, Json> groups;
  for (const auto& one : pass.decisions) {
    Json& group = groups[one.group_index];
    if (group.is_null()) group = {{"index", one.group_index}, {"name", one.group_name}, {"clusters", Json::array()}};
    for (const std::string& cluster : one.clusters) group["clusters"].push_back(cluster);
  }
  Json list = Json::array();
  for (auto& [index, group] : groups) list.push_back(std::move(group));
  return list;
}

Json simulated_json(const Simulated& one) {
  Json out{{"namespace", one.ns},
           {"name", one.name},
           {"against", one.against_baseline ? "simulation" : "decisions"},
           {"moves", {{"added", one.added}, {"removed", one.removed}, {"kept", one.kept}}}};
  if (one.pass.skipped) {
    out["skipped"] = true;
    return out;
  }
  if (!one.pass.failure.empty()) {
    out["error"] = one.pass.failure;
    return out;
  }
  out["selected"] = one.pass.selected;
  out["decisionGroups"] = groups_json(one.pass);
  out["conditions"] = conditions_json(one.pass);
  if (one.pass.requeue_at) out["requeueAfter"] = format_time(*one.pass.requeue_at);
  return out;
}

void add_rows(const Simulated& one, Table& table) {
  const std::string name = one.ns + "/" + one.name;
  std::map<std::string_view, std::size_t> rank;
  for (const std::string& cluster : one.pass.selected) rank.emplace(cluster, rank.size() + 1);
  std::map<std::string_view, std::int64_t> scores;
  for (const auto& [cluster, sum] : one.pass.sums) scores.emplace(cluster, sum);
  for (const auto& decision : one.pass.decisions) {
    const std::string group =
        std::to_string(decision.group_index) + (decision.group_name.empty() ? "" : " (" + decision.group_name + ")");
    for (const std::string& cluster : decision.clusters) {
      const bool added = std::binary_search(one.added.begin(), one.added.end(), cluster);
      table.rows.push_back(
          {name, cluster, added ? "added" : "kept", group, std::to_string(rank[cluster]), std::to_string(scores[cluster])});
    }
  }
  for (const std::string& cluster : one.removed) table.rows.push_back({name, cluster, "removed", "", "", ""});
}

std::string summary(const Simulated& one) {
  const std::string name = one.ns + "/" + one.name + ": ";
  if (one.pass.skipped) return name + "is not scheduled (disabled by an annotation, or being deleted); its decisions stay";
  if (!one.pass.failure.empty()) return name + "cannot be scheduled, its decisions stay: " + one.pass.failure;
  std::string text = name + std::to_string(one.added.size() + one.kept.size()) + " selected, " +
                     std::to_string(one.added.size()) + " added, " + std::to_string(one.removed.size()) + " removed, " +
                     std::to_string(one.kept.size()) + " kept";
  for (const auto& condition : one.pass.conditions) {
    const bool good = (condition.type == "PlacementSatisfied") == (condition.status == "True");
    if (!good) text += "; " + condition.reason + ": " + condition.message;
  }
  return text;
}

Report report_of(const Context& context, const SimulateOptions& options, const Inputs& inputs,
                 const std::vector<Simulated>& simulated) {
  Report report;
  report.table = Table{{{"PLACEMENT"}, {"CLUSTER"}, {"MOVE"}, {"GROUP"}, {"RANK", true}, {"SCORE", true}},
                       {},
                       simulated.empty() ? "No placements found." : "No clusters are selected or moved."};
  Json list = Json::array();
  const std::string& output = context.global().output;
  const bool tabular = output.empty() || output == "table" || output == "wide";
  if (tabular) report.notes = inputs.notes;
  for (const Simulated& one : simulated) {
    list.push_back(simulated_json(one));
    add_rows(one, *report.table);
    report.names.push_back(full_name(api::placements(), one.name));
    if (tabular) report.notes.push_back(summary(one));
  }
  report.data = {{"kind", "PlacementSimulation"},
                 {"now", format_time(inputs.now)},
                 {"whatIf", options.what_if},
                 {"notes", inputs.notes},
                 {"placements", std::move(list)}};
  return report;
}

Result<Report> run_simulate(Context& context, const SimulateOptions& options, const std::vector<std::string>& names) {
  FLEETADM_TRY(const auto cel, placement::make_cel_evaluator());
  if (!options.scenarios.empty()) {
    return answer_scenarios(context, options.scenarios,
                            [&cel](const Json& line) { return placement::answer_scenario(line, cel.get()); });
  }
  FLEETADM_TRY(const std::string ns, input_namespace(context, options.inputs));
  FLEETADM_TRY(Inputs inputs, read_inputs(context, options.inputs, ns));
  const placement::PassOptions pass{.cel = cel.get(), .record = true};
  if (options.what_if.empty()) {
    FLEETADM_TRY(const auto keys, wanted(context, options, names, ns, inputs.objects));
    return report_of(context, options, inputs, simulate(inputs.objects, inputs.objects, keys, inputs.now, pass));
  }
  const Objects today = inputs.objects;
  FLEETADM_CHECK(apply_what_if(context, options.what_if, ns, inputs));
  FLEETADM_TRY(const auto keys, wanted(context, options, names, ns, inputs.objects));
  return report_of(context, options, inputs, simulate(today, inputs.objects, keys, inputs.now, pass));
}

}  // namespace

void register_placement_simulate(Registry& registry) {
  Command command;
  command.path = "placement simulate";
  command.group = "Placement";
  command.summary = "Show what the scheduler would decide and which clusters would change";
  command.description =
      "Runs the scheduler on the placements in the namespace (or on those named) with the objects of a "
      "hub or, with -f, from files: ManagedClusters, ManagedClusterSets, ManagedClusterSetBindings, "
      "Placements, PlacementDecisions and AddOnPlacementScores, as plain manifests, lists, or the output "
      "of kubectl get -o yaml. Nothing is written, and with -f no hub is contacted. "
      "It shows which clusters each placement would select and what would change compared with its "
      "current PlacementDecisions or, if it has none, with what it would select without the changes of "
      "--what-if.\n\n"
      "--what-if applies changes first, in order. down=C makes a cluster unreachable as the hub would, "
      "up=C available; taint=C:KEY=VALUE:EFFECT and untaint=C:KEY, label=C:KEY=VALUE and label=C:KEY- "
      "(remove) change it; remove=C removes it; add=FILE adds objects or replaces those with the same "
      "name. Each placement is evaluated once, starting from the current decisions.\n\n"
      "-o json prints one object: kind PlacementSimulation, now, whatIf, notes, and placements: "
      "a list of namespace, name, against (decisions, or simulation if there were none), "
      "moves (added, removed, kept: cluster names, sorted), selected (best first), decisionGroups "
      "(index, name, clusters), conditions (type, status, reason, message) and requeueAfter "
      "(RFC 3339, if the placement would be evaluated again). A placement that is not scheduled has "
      "skipped: true instead of selected and the fields after it, and one that cannot be scheduled has "
      "error (text).\n\n"
      "--scenarios evaluates cases in batches, with one JSON object per line in and out; "
      "see fleetadm-scenarios(7).";
  command.args = {"[NAME...]", 0, -1, false, Complete::kPlacements};
  command.examples = {{"Which clusters take over if c3 is lost and c4 is drained?",
                       "fleetadm placement simulate web -n apps --what-if down=c3,taint=c4:maintenance:NoSelect"},
                      {"Try a placement before it is on a hub", "fleetadm placement simulate -f fleet.yaml -f web.yaml -o json"},
                      {"What a new cluster would be given, across all namespaces",
                       "fleetadm placement simulate -A --what-if add=c9.yaml -o wide"},
                      {"Evaluate recorded cases", "fleetadm placement simulate --scenarios cases.jsonl"}};
  command.make = invocation<SimulateOptions>(
      [](FlagSet& flags, SimulateOptions& options) {
        bind_inputs(flags, options.inputs);
        what_if_flag(flags, &options.what_if);
        all_namespaces_flag(flags, &options.all_namespaces, "placements in all namespaces");
        scenarios_flag(flags, &options.scenarios);
      },
      validate_simulate, run_simulate);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
